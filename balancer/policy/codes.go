package policy

import "slices"

// Code identifies the reason why something was chosen or not. Codes are stable: scripts and checks may
// compare them. The table of codes explains them.
type Code string

// Subject is the kind of object that a code concerns.
type Subject string

// The subjects, the widest first.
const (
	SubjectCluster    Subject = "cluster"
	SubjectCollection Subject = "collection"
	SubjectShard      Subject = "shard"
	SubjectZone       Subject = "zone"
	SubjectChunk      Subject = "chunk"
)

// These are the codes of chosen migrations. The code is the reason of the migration.
const (
	ChosenDrain                = Code(ReasonDrain)
	ChosenZoneViolation        = Code(ReasonZoneViolation)
	ChosenImbalance            = Code(ReasonChunksImbalance)
	ChosenDefragmentation      = Code(ReasonDefragmentation)
	ChosenUnsharded            = Code(ReasonUnsharded)
	ChosenAtRandom        Code = "randomMove"
)

// These codes concern the cluster for the whole round.
const (
	BalancerOff Code = "balancerOff"
	WindowShut  Code = "windowShut"
	RoundLocked Code = "roundLocked" // before 3.4
	Throttled   Code = "throttled"   // chosen, but waiting
)

// These codes concern a collection, whatever its chunks are.
const (
	BalancingOff             Code = "balancingOff"
	MigrationsForbidden      Code = "migrationsForbidden"
	ChunkOperationsForbidden Code = "chunksFrozen"
	Resharding               Code = "resharding"
	DefragmentingFirst       Code = "defragmentingFirst"
	UnalignedZones           Code = "unalignedZones"
	SelectionTimedOut        Code = "notCached"
	CollectionGone           Code = "collectionGone"
	NotReadable              Code = "notReadable"
	TooFewShards             Code = "tooFewShards" // for the rest of the collection
	OneMigrationPerRound     Code = "oneMigration" // before 3.4
)

// These codes concern a shard, for the whole collection.
const (
	ShardBusy      Code = "shardBusy"   // is already the donor or recipient of a migration in this round
	ShardAtMaxSize Code = "shardFull"   // before 6.0
	NoRoom         Code = "noRoom"      // with a disk limit
	NoSizeEntry    Code = "noSizeEntry" // not measured, so it can be neither a recipient nor, by size, a donor
	NothingToDrain Code = "nothingToDrain"
)

// These codes concern a zone.
const (
	NoRecipient        Code = "noRecipient" // also for a single shard that must give chunks
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

// These codes concern one chunk.
const (
	JumboFlag       Code = "jumboFlag"
	OtherChunkFirst Code = "otherChunkFirst"
	RangeSkipped    Code = "rangeSkipped" // by a run of shardsh
)

// CodeInfo is a row in the table of codes.
type CodeInfo struct {
	Code    Code
	Subject Subject
	// Chosen says that the code is that of a migration.
	Chosen bool
	// Meaning is a sentence or two. Remedy describes how the user can change the decision.
	Meaning, Remedy string

	sentence func(Decision) string
}

// Codes returns the table of codes: those of migrations first, then the others by subject.
func Codes() []CodeInfo {
	return slices.Concat(chosenCodes, roundCodes, shardCodes, zoneCodes, chunkCodes)
}

// Info returns the row of a code. For an unknown code, it contains only the code.
func (c Code) Info() CodeInfo {
	for _, part := range [][]CodeInfo{chosenCodes, roundCodes, shardCodes, zoneCodes, chunkCodes} {
		if i := slices.IndexFunc(part, func(info CodeInfo) bool { return info.Code == c }); i >= 0 {
			return part[i]
		}
	}
	return CodeInfo{Code: c}
}
