package mock

// ServerBugs are known server bugs that the mock reproduces, or fixes, only on request.
type ServerBugs struct {
	// FixBalancerStop fixes a bug of all releases: balancerStop answers while migrations that the balancer
	// of an earlier term has begun are running, which then commit (SERVER-100155).
	FixBalancerStop bool
	// StaleRecipientIndexes gives a recipient the indexes that the donor had when the
	// migration began, even if indexes were created or dropped since (SERVER-99357).
	StaleRecipientIndexes bool
	// KeepsAbortedDeletions has a migration that fails leave its range deletions behind, which
	// are never executed (SERVER-92437).
	KeepsAbortedDeletions bool
	// UnshardKeepsUUIDs has the shards that unshardCollection takes everything from keep the empty
	// collection under its old uuid (SERVER-123346, 8.0 on).
	UnshardKeepsUUIDs bool
	// FixSecondaryReads fixes a bug of releases before 8.2: a read of secondaries that began before a range
	// was given away goes on without it when it is deleted. It is killed then, as from 8.2 on.
	FixSecondaryReads bool
	// DropsUnreadyDeletions has the transition to a dedicated config server drop the range deletions of
	// migrations that have committed and whose donor does not know it yet: they are never executed, and
	// who waits for one waits for ever (SERVER-125663, 8.2.7 on).
	DropsUnreadyDeletions bool
	// LosesEarlyAborts has an operation that reshards go on whose abort comes before its shards
	// prepare, though the abort is answered (SERVER-115139).
	LosesEarlyAborts bool
}
