// Package runner has the engine at work on a live cluster: rounds of balancer.Loop
// for some collections, to a goal that the operator chose, at a pace, until there
// is nothing left to move, a limit is reached, or somebody is to be asked.
package runner
