// Package preflight reports, before any command is sent to a cluster, what stands in the way of a run:
// obstacles that would stop it half-way, and facts that an operator should know.
//
// It decides from values: a Snapshot, the plan, the privileges of the user and other data that was read
// before. Each obstacle is a finding of package diagnosis, with a code and a remedy.
package preflight
