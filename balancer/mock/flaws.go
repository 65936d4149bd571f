package mock

// Flaws are known faults of servers that the mock has only on request, or lacks only then.
type Flaws struct {
	// StopJoins mends what all releases do: balancerStop answers while migrations that the balancer
	// of an earlier term has begun go on, which then commit (SERVER-100155).
	StopJoins bool
	// IndexesOfTheStart has a recipient end with the indexes that the donor had when the
	// migration began, whatever was created or dropped meanwhile (SERVER-99357).
	IndexesOfTheStart bool
	// KeepsAbortedDeletions has a migration that fails leave its range deletions behind, which
	// nobody carries out (SERVER-92437).
	KeepsAbortedDeletions bool
	// UnshardKeepsUUIDs has the shards that unshardCollection takes everything from keep the empty
	// collection under its old uuid (SERVER-123346, 8.0 on).
	UnshardKeepsUUIDs bool
	// LosesEarlyAborts has an operation that reshards go on whose abort comes before its shards
	// prepare, though the abort is answered (SERVER-115139).
	LosesEarlyAborts bool
}
