package policy

import (
	"cmp"
	"shardsh/balancer/catalog"
)

// AmountToCut returns how many documents of a chunk its donor gives if the chunk is too large to
// move as a whole. perPiece is the number of documents of one chunk size. The donor gives one chunk
// size if the chunk has at least 1.8 chunk sizes, and half of the chunk between 1.33 and 1.8. Below
// that cut is false, and the whole chunk moves (rules/01-selection §6.8).
func AmountToCut(documents, perPiece int64) (n int64, cut bool) {
	perPiece = max(perPiece, 1)
	switch pieces := float64(documents) / float64(perPiece); {
	case pieces < 1.33:
		return 0, false
	case pieces < 1.8:
		return documents / 2, true
	}
	return perPiece, true
}

// MaxKeysPerPiece is the largest number of keys that splitVector leaves between two split points
// (rules/01-selection §10.1).
const MaxKeysPerPiece = 250_000

// MaxDocuments returns the maximum number of documents of a range that is moved without force.
// documents and bytes are the totals of the collection on the donor. The maximum is twice the number of
// average documents in a chunk size; up to 4.4, it is 1.3 times that number
// (rules/02-migration-and-metadata §5.7).
func MaxDocuments(r catalog.Release, documents, bytes, maxChunkSize int64) int64 {
	if documents == 0 {
		return 250001
	}
	average := bytes / documents
	average = cmp.Or(average, 5)
	perChunk := max(maxChunkSize/average, 1)
	if !r.FCVAtLeast(catalog.Release50) {
		return 130 * perChunk / 100
	}
	return 2 * perChunk
}
