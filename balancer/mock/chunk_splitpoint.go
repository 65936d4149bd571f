package mock

import (
	"bytes"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

type direction bool

const (
	forward  direction = false
	backward direction = true
)

// EndingAt is the chunk whose upper bound is max, else the one containing it.
func EndingAt(t *catalog.RoutingTable, max catalog.Key) catalog.Chunk {
	i := t.IndexOf(max)
	if chunk := t.At(i); i == 0 || !chunk.Min.Equal(max) {
		return chunk
	}
	return t.At(i - 1)
}

// splitPoint searches [min, max) for the first point that cuts off about one
// chunk size ("auto split vector" with limit 1, spec 02 §5.8). Sizes are those
// of the whole local collection, orphans included.
func (l *localCollection) splitPoint(p catalog.KeyPattern, min, max catalog.Key, maxChunkBytes int64, dir direction) (catalog.Key, bool) {
	if l == nil {
		return catalog.Key{}, false
	}
	docs, size := l.counts()
	if docs == 0 || size < maxChunkBytes || size/docs == 0 {
		return catalog.Key{}, false
	}
	perPiece := maxChunkBytes / (size / docs)
	if virtual, _ := l.virtual.within(p, min, max); virtual > 0 {
		return l.virtualPoint(p, min, max, virtual, perPiece, dir)
	}
	keys := make([][]byte, 0, 1024)
	records := make([]store.RecordID, 0, 1024)
	for record, key := range l.inRange(p, min, max) {
		keys = append(keys, key)
		records = append(records, record)
	}
	if dir == backward {
		slices.Reverse(keys)
		slices.Reverse(records)
	}
	at, ok := firstPiece(keys, int(perPiece))
	if !ok {
		return catalog.Key{}, false
	}
	doc, _ := l.docs.Get(records[at])
	key, err := p.DocumentKey(doc)
	return key, err == nil
}

// firstPiece is the position of the first split point.
func firstPiece(keys [][]byte, perPiece int) (int, bool) {
	points := piecePoints(keys, perPiece, 1)
	if len(points) == 0 {
		return 0, false
	}
	return points[0], true
}

// piecePoints is the search itself over the keys of a range in walking order:
// the positions of the first split points, up to limit of them, or all for 0.
// Keys equal to the point before are skipped; a short last piece is made up for
// by the pieces before it.
func piecePoints(keys [][]byte, perPiece, limit int) []int {
	if len(keys) == 0 || bytes.Equal(keys[0], keys[len(keys)-1]) {
		return nil
	}
	most := len(keys)
	if limit > 0 {
		most = limit + 1
	}
	points, count := walkPieces(keys, 0, 1, perPiece, most)
	if len(points) > 0 && float64(count) < 0.8*float64(perPiece) {
		points = evenOut(keys, points, count, perPiece)
	}
	if limit > 0 {
		points = points[:min(limit, len(points))]
	}
	return points
}

// evenOut takes what the last piece lacks from the pieces before it.
func evenOut(keys [][]byte, points []int, count, perPiece int) []int {
	again := min(3, len(points))
	smaller := perPiece - (perPiece-count)/(again+1)
	if count < perPiece-smaller {
		return points[:len(points)-1]
	}
	points = points[:len(points)-again]
	from := 0
	if len(points) > 0 {
		from = points[len(points)-1]
	}
	// The key walked from counts as the first of its piece.
	more, _ := walkPieces(keys, from, 1, smaller, again)
	return append(points, more...)
}

// walkPieces picks up to limit points behind keys[from], one every n keys,
// and gives the count after the last one.
func walkPieces(keys [][]byte, from, count, n, limit int) (points []int, rest int) {
	last := keys[from]
	for i := from + 1; i < len(keys); i++ {
		count++
		if count < n || bytes.Equal(keys[i], last) {
			continue
		}
		points = append(points, i)
		last, count = keys[i], 0
		if len(points) == limit {
			break
		}
	}
	return points, count
}

// virtualPoint applies the same rule to virtual data: one chunk size from 1.8
// of them up, half of the range between 1.33 and 1.8, else no point.
func (l *localCollection) virtualPoint(p catalog.KeyPattern, min, max catalog.Key, docs, perPiece int64, dir direction) (catalog.Key, bool) {
	if perPiece == 0 {
		perPiece = 1
	}
	var n int64
	switch chunks := float64(docs) / float64(perPiece); {
	case chunks < 1.33:
		return catalog.Key{}, false
	case chunks < 1.8:
		n = docs / 2
	default:
		n = perPiece
	}
	if dir == backward {
		n = docs - n
	}
	return l.virtual.pointAfter(p, min, max, n)
}

// Median is the split point of a chunk for split by find or bounds (spec 03
// §1.3): key number floor(N/2)+1, or the next different key when that equals
// the first.
func (cks Chunks) Median(coll catalog.Collection, chunk catalog.Chunk) (catalog.Key, error) {
	local := cks.c.shards[chunk.Shard].colls[coll.Namespace]
	if local == nil {
		return catalog.Key{}, errEmptyCollection(coll.Namespace)
	}
	if docs, _ := local.counts(); docs == 0 {
		return catalog.Key{}, errEmptyCollection(coll.Namespace)
	}
	if virtual, _ := local.virtual.within(coll.Pattern, chunk.Min, chunk.Max); virtual > 0 {
		if key, ok := local.virtual.pointAfter(coll.Pattern, chunk.Min, chunk.Max, virtual/2); ok {
			return key, nil
		}
		return catalog.Key{}, errNoMedian()
	}
	if _, ok := local.keyIndex(coll.Pattern); !ok {
		return catalog.Key{}, mongoerr.New(mongoerr.IndexNotFound, "couldn't find index over splitting key %s", coll.Pattern.Doc())
	}
	var records []store.RecordID
	var keys [][]byte
	for record, key := range local.inRange(coll.Pattern, chunk.Min, chunk.Max) {
		records = append(records, record)
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return catalog.Key{}, mongoerr.New(mongoerr.OperationFailed, "the chunk holds no documents")
	}
	at := len(keys) / 2
	for at < len(keys) && bytes.Equal(keys[at], keys[0]) {
		at++
	}
	if at == len(keys) {
		return catalog.Key{}, errNoMedian()
	}
	doc, _ := local.docs.Get(records[at])
	return coll.Pattern.DocumentKey(doc)
}

func errEmptyCollection(ns string) error {
	return mongoerr.New(mongoerr.InvalidOptions, "can't find the median of %s: the shard holds no documents of it", ns)
}

func errNoMedian() error {
	return mongoerr.New(mongoerr.CannotSplit, "cannot find median in chunk, possibly empty")
}
