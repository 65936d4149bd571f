// Package apply executes a plan on a cluster. Each step is checked against the current state of the
// cluster immediately before it, and is recorded in a journal before its commands are sent. Whenever
// the process is stopped or killed, the journal suffices to continue and to undo the steps.
//
// A step whose outcome is visible in the cluster counts as done. Therefore a run can continue even if
// it is not known whether the last command was executed: the journal says that the step has begun, and
// the cluster says whether it is done.
package apply
