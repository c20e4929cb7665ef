package audit

func (a *auditor) deviceName(id portID) string { return a.c.Ports[id].Name }
