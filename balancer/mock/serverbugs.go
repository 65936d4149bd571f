package mock

// ServerBugs selects known server bugs that the mock reproduces or fixes only on request.
type ServerBugs struct {
	// FixBalancerStop fixes a bug of all releases: balancerStop returns while migrations of an earlier
	// term's balancer are still running, which may then commit (SERVER-100155).
	FixBalancerStop bool
	// StaleRecipientIndexes creates on the recipient the indexes that the donor had at the start of the
	// migration, even if indexes were created or dropped since (SERVER-99357).
	StaleRecipientIndexes bool
	// KeepsAbortedDeletions makes a failed migration leave its range deletions behind, which are never
	// executed (SERVER-92437).
	KeepsAbortedDeletions bool
	// UnshardKeepsUUIDs makes the donor shards of unshardCollection keep the empty collection with its
	// old UUID (SERVER-123346, since 8.0).
	UnshardKeepsUUIDs bool
	// FixSecondaryReads fixes a bug of releases before 8.2: a read from secondaries that began before a
	// range was donated continues without the range's documents when they are deleted. With the fix the
	// read is killed, as since 8.2.
	FixSecondaryReads bool
	// DropsUnreadyDeletions makes the transition to a dedicated config server drop the range deletions
	// of committed migrations whose donor does not know the decision yet. They are never executed, and
	// waits for them never end (SERVER-125663, since 8.2.7).
	DropsUnreadyDeletions bool
	// LosesEarlyAborts makes a resharding ignore an abort that arrives before the shards prepare,
	// although the abort command succeeds (SERVER-115139).
	LosesEarlyAborts bool
}
