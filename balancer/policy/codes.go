package policy

import "slices"

// Code names why something was chosen, or was not. Codes are stable: scripts and
// checks may compare with them. The table of codes says what each means.
type Code string

// Subject is what a code is about.
type Subject string

// The subjects, the widest first.
const (
	SubjectCluster    Subject = "cluster"
	SubjectCollection Subject = "collection"
	SubjectShard      Subject = "shard"
	SubjectZone       Subject = "zone"
	SubjectChunk      Subject = "chunk"
)

// What was chosen: the reason of the migration is its code.
const (
	ChosenDrain                = Code(ReasonDrain)
	ChosenZoneViolation        = Code(ReasonZoneViolation)
	ChosenImbalance            = Code(ReasonChunksImbalance)
	ChosenDefragmentation      = Code(ReasonDefragmentation)
	ChosenUnsharded            = Code(ReasonUnsharded)
	ChosenAtRandom        Code = "randomMove"
)

// About the cluster, for the whole round.
const (
	BalancerOff Code = "balancerOff"
	WindowShut  Code = "windowShut"
	RoundLocked Code = "roundLocked" // before 3.4
	Throttled   Code = "throttled"   // chosen, and waits
)

// About a collection, whatever its chunks are.
const (
	BalancingOff        Code = "balancingOff"
	MigrationsForbidden Code = "migrationsForbidden"
	ChunksFrozen        Code = "chunksFrozen"
	Resharding          Code = "resharding"
	DefragmentingFirst  Code = "defragmentingFirst"
	UnalignedZones      Code = "unalignedZones"
	NotCached           Code = "notCached"
	CollectionGone      Code = "collectionGone"
	NotReadable         Code = "notReadable"
	TooFewShards        Code = "tooFewShards" // the rest of the collection waits
	OneMigration        Code = "oneMigration" // before 3.4
)

// About a shard, for the whole collection.
const (
	ShardBusy      Code = "shardBusy"   // donor or recipient of a migration of this round already
	ShardFull      Code = "shardFull"   // before 6.0
	NoRoom         Code = "noRoom"      // with a disk limit
	NoSizeEntry    Code = "noSizeEntry" // not measured: no recipient, and no donor by size
	NothingToDrain Code = "nothingToDrain"
)

// About a zone.
const (
	NoRecipient        Code = "noRecipient" // also for one shard that has to give
	ZoneWithoutShards  Code = "zoneWithoutShards"
	NoData             Code = "noData"
	NoDonor            Code = "noDonor"
	DonorIsRecipient   Code = "donorIsRecipient"
	DonorAtIdeal       Code = "donorAtIdeal"
	DonorNearIdeal     Code = "donorNearIdeal" // before 6.0
	RecipientAtIdeal   Code = "recipientAtIdeal"
	BelowThreshold     Code = "belowThreshold"
	OnlyJumboChunks    Code = "onlyJumboChunks"
	LargestOutsideZone Code = "largestOutsideZone"
	NoChunkInZone      Code = "noChunkInZone"
)

// About one chunk.
const (
	JumboFlag       Code = "jumboFlag"
	OtherChunkFirst Code = "otherChunkFirst"
	RangeSkipped    Code = "rangeSkipped" // by a run of shardsh
)

// CodeInfo is a row of the table of codes.
type CodeInfo struct {
	Code    Code
	Subject Subject
	// Chosen: the code is that of a migration.
	Chosen bool
	// Meaning is a sentence or two; Remedy is what to do when this is not what
	// one wants.
	Meaning, Remedy string

	sentence func(Decision) string
}

// Codes returns the table of codes: those of migrations first, then by subject.
func Codes() []CodeInfo {
	return slices.Concat(chosenCodes, roundCodes, shardCodes, zoneCodes, chunkCodes)
}

// Info returns the row of a code; one that the table does not know has its name
// only.
func (c Code) Info() CodeInfo {
	for _, part := range [][]CodeInfo{chosenCodes, roundCodes, shardCodes, zoneCodes, chunkCodes} {
		if i := slices.IndexFunc(part, func(info CodeInfo) bool { return info.Code == c }); i >= 0 {
			return part[i]
		}
	}
	return CodeInfo{Code: c}
}
