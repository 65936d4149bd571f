// Package preflight says, before anything is sent to a cluster, what is in the way of a
// run that changes it: what would stop it half-way, and what is worth knowing.
//
// It decides from values: a Snapshot, the plan, the privileges of the user and what else
// was read. Each obstacle is a finding of diagnosis, with a code and a remedy.
package preflight
