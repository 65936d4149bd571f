package policy

import (
	"cmp"
	"shardsh/balancer/catalog"
)

// DocumentsToCut returns how many documents of a chunk its donor gives, for a
// chunk that holds so many and a chunk size that holds perPiece: one chunk size
// from 1.8 of them up, half of the chunk between 1.33 and 1.8. It reports false
// below that, where the whole chunk moves (rules/01-selection §6.8).
func DocumentsToCut(documents, perPiece int64) (n int64, cut bool) {
	perPiece = max(perPiece, 1)
	switch pieces := float64(documents) / float64(perPiece); {
	case pieces < 1.33:
		return 0, false
	case pieces < 1.8:
		return documents / 2, true
	}
	return perPiece, true
}

// MaxDocuments returns how many documents a range may have that is not forced
// to move, where the donor has so many documents of the collection with so many
// bytes: twice those of a chunk of average ones, up to 4.4 1.3 times
// (rules/02-migration-and-metadata §5.7).
func MaxDocuments(r catalog.Release, documents, bytes, maxChunkSize int64) int64 {
	if documents == 0 {
		return 250001
	}
	average := bytes / documents
	average = cmp.Or(average, 5)
	perChunk := max(maxChunkSize/average, 1)
	if !r.AtLeast(catalog.Release50) {
		return 130 * perChunk / 100
	}
	return 2 * perChunk
}
