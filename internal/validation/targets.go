package validation

import "slices"

// Targets returns all targets in the order of the table.
func Targets() []Target {
	return slices.Concat(closedForms(), simulatorTests(), networkTargets(), collectiveTargets(), transportTargets(), stepVolumes(), articleTargets(), fluidTargets(), peerTargets())
}
