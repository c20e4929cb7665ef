// Package simulated measures the diagnosis on faults that the simulator
// injects: random clusters, places and severities, with background traffic,
// part of the ports invisible and a counter reset in the window.
package simulated
