// Package runner runs the engine on a live cluster. It runs rounds of balancer.Loop for some
// collections, to a goal that the operator chose and at a limited pace, until there is nothing left to
// move, a limit is reached, or the operator has to decide.
package runner
