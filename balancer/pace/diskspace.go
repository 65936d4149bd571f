package pace

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// VolumeRoom is the free space of the recipient's volume below the disk limit.
type VolumeRoom struct {
	// Shortfall returns how many bytes are missing on the volume to store the given number of bytes of
	// the collection; 0 if there is room, MaxInt64 if the volume is not known.
	Shortfall func(bytes int64) int64
	// DonorRangeBytes is the number of bytes that the donor has counted in the range of a WholeRange move;
	// 0 if the donor was not asked, or did not answer.
	DonorRangeBytes int64
	// OrphanDocs is the number of documents of the collection that the recipient has yet to delete, which
	// makes room for other documents of the collection.
	OrphanDocs int64
}

// WithRoomReader sets the function that reads the free space of a move's recipient. Without it, a disk
// limit admits no move.
func WithRoomReader(read func(context.Context, Move) (VolumeRoom, error)) Option {
	return func(g *Gate) { g.readRoom = read }
}

// checkpointDelay is the time for which received data may be missing in the sizes of files, which grow
// with the next checkpoint, once a minute.
const checkpointDelay = 2 * time.Minute

// maxDiskWait is the maximum wait for room that range deletions make. Their delay is a quarter of an hour
// by default, and an hour from 8.2 on.
const maxDiskWait = 2 * time.Hour

// readSpaceObstacle checks that the recipient has room for a move, and sets the number of bytes that
// need room.
func (g *Gate) readSpaceObstacle(ctx context.Context, m *Move) (*obstacle, error) {
	if g.rules.DiskLimit == 0 || m.MovesNothing || m.To == "" || m.To == m.From {
		return nil, nil
	}
	room, err := g.readRoom(ctx, *m)
	if err != nil {
		return noAnswerObstacle("can't read the volumes of the shards", err)
	}
	g.mu.Lock()
	unseen := g.arriving.unseenBytes(m.To, g.clock.Now())
	g.mu.Unlock()
	if room.DonorRangeBytes > 0 {
		m.RoomBytes = room.DonorRangeBytes
	}
	need := m.roomBytes()
	lacks := room.Shortfall(need + unseen)
	switch {
	case lacks == 0:
		return nil, nil
	case unseen > 0 && room.Shortfall(need) == 0:
		return &obstacle{reason: WaitDisk, left: busyPollInterval, text: fmt.Sprintf(
			"waiting until the volume of shard %s shows what it has received", m.To)}, nil
	case room.OrphanDocs > 0 && lacks < math.MaxInt64: // a volume of unknown size stays unknown
		return &obstacle{reason: WaitDisk, left: busyPollInterval, text: fmt.Sprintf("%s; it has yet to delete %s of %s",
			g.noSpaceText(m, lacks), humanize.Count(room.OrphanDocs, "orphaned document"), m.Namespace)}, nil
	}
	return nil, &RunOverError{Why: g.noSpaceText(m, lacks) + ": add space or a shard, or raise --disk-limit (diskLimit)"}
}

// noSpaceText says that a shard has no room for a move.
func (g *Gate) noSpaceText(m *Move, missingBytes int64) string {
	limit := humanize.Percent(g.rules.DiskLimit)
	if missingBytes == math.MaxInt64 {
		return fmt.Sprintf("the disk limit of %s can't be kept: the size of the volume of shard %s is not known", limit, m.To)
	}
	return fmt.Sprintf("the disk limit of %s is reached: shard %s lacks %s on disk for %s of %s", limit, m.To,
		humanize.Bytes(missingBytes), humanize.Bytes(m.roomBytes()), m.Namespace)
}

func (m Move) roomBytes() int64 { return cmp.Or(m.RoomBytes, m.Bytes) }

// arrivals contains the moves that shards are receiving, or have received recently.
type arrivals map[catalog.ShardID][]arrival

type arrival struct {
	ns    string
	min   catalog.Key
	bytes int64
	ended time.Time // zero while the move is running
}

// countMove records that a move begins (delta > 0) or ends.
func (a arrivals) countMove(m Move, delta int, now time.Time) {
	if m.To == "" {
		return
	}
	list := a[m.To]
	if delta > 0 {
		a[m.To] = append(list, arrival{ns: m.Namespace, min: m.Min, bytes: m.roomBytes()})
		return
	}
	for i := range list {
		if list[i].ended.IsZero() && list[i].ns == m.Namespace && list[i].min.Equal(m.Min) {
			list[i].ended = now
			return
		}
	}
}

// unseenBytes returns the received bytes that the sizes of a shard's files may not include yet.
func (a arrivals) unseenBytes(id catalog.ShardID, now time.Time) (sum int64) {
	kept := a[id][:0]
	for _, x := range a[id] {
		if x.ended.IsZero() || now.Sub(x.ended) < checkpointDelay {
			kept = append(kept, x)
			sum += x.bytes
		}
	}
	a[id] = kept
	return sum
}
