package mock

// Flaws are known faults of servers. The mock has those that Config names, and no other.
type Flaws struct {
	// StopWithoutJoining has balancerStop answer while migrations of the balancer of an earlier
	// term go on, which then commit (SERVER-100155).
	StopWithoutJoining bool
	// IndexesOfTheStart has a recipient end with the indexes that the donor had when the
	// migration began, whatever was created or dropped meanwhile (SERVER-99357).
	IndexesOfTheStart bool
	// KeepsAbortedDeletions has a migration that fails leave its range deletions behind, which
	// nobody carries out (SERVER-92437).
	KeepsAbortedDeletions bool
}
