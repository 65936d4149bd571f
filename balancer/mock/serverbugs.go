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
	// LosesEarlyAborts has an operation that reshards go on whose abort comes before its shards
	// prepare, though the abort is answered (SERVER-115139).
	LosesEarlyAborts bool
}
