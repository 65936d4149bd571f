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

// Room is what the volume of a move's recipient has below the limit.
type Room struct {
	// Lacks returns how many bytes on disk are lacking for so many bytes of the collection;
	// 0 where there is room, MaxInt64 where the volume is not known.
	Lacks func(bytes int64) int64
	// Needs is what the donor has counted in the range of a move that is whole; 0 where it
	// was not asked, or did not answer.
	Needs int64
	// Orphans are documents of the collection that the recipient has yet to delete, which
	// makes room for others of it.
	Orphans int64
}

// Volumes tells a Gate where to read what the recipient of a move has room for. Without it a
// disk limit lets nothing begin.
func Volumes(read func(context.Context, Move) (Room, error)) Option {
	return func(g *Gate) { g.room = read }
}

// unwritten is for how long what has arrived may be missing in the sizes of files: they grow
// with the next checkpoint, each minute.
const unwritten = 2 * time.Minute

// maxDeleting is how long is waited for deletions to make room: their delay is a quarter of an
// hour by default.
const maxDeleting = time.Hour

// space asks whether the recipient has room for a move, and notes what has to have room.
func (g *Gate) space(ctx context.Context, m *Move) (*obstacle, error) {
	if g.rules.DiskLimit == 0 || m.Stays || m.To == "" || m.To == m.From {
		return nil, nil
	}
	room, err := g.room(ctx, *m)
	if err != nil {
		return noAnswer("can't read the volumes of the shards", err)
	}
	g.mu.Lock()
	unseen := g.arriving.unseen(m.To, g.clock.Now())
	g.mu.Unlock()
	if room.Needs > 0 {
		m.Room = room.Needs
	}
	need := m.room()
	lacks := room.Lacks(need + unseen)
	switch {
	case lacks == 0:
		return nil, nil
	case unseen > 0 && room.Lacks(need) == 0:
		return &obstacle{reason: NoSpace, left: lookAgain, text: fmt.Sprintf(
			"waiting until the volume of shard %s shows what it has received", m.To)}, nil
	case room.Orphans > 0:
		return &obstacle{reason: NoSpace, left: lookAgain, text: fmt.Sprintf("%s; it has yet to delete %s of %s",
			g.full(m, lacks), humanize.Count(room.Orphans, "orphaned document"), m.Namespace)}, nil
	}
	return nil, &OverError{Why: g.full(m, lacks) + ": add space or a shard, or raise --disk-limit (diskLimit)"}
}

// full says that a shard has no room for a move.
func (g *Gate) full(m *Move, lacks int64) string {
	limit := humanize.Percent(g.rules.DiskLimit)
	if lacks == math.MaxInt64 {
		return fmt.Sprintf("the disk limit of %s can't be kept: the size of the volume of shard %s is not known", limit, m.To)
	}
	return fmt.Sprintf("the disk limit of %s is reached: shard %s lacks %s on disk for %s of %s", limit, m.To,
		humanize.Bytes(lacks), humanize.Bytes(m.room()), m.Namespace)
}

func (m Move) room() int64 { return cmp.Or(m.Room, m.Bytes) }

// arriving is what shards receive, or have received a moment ago.
type arriving map[catalog.ShardID][]arrival

type arrival struct {
	ns    string
	min   catalog.Key
	bytes int64
	ended time.Time // zero while it is under way
}

// count has a move begin, or end.
func (a arriving) count(m Move, times int, now time.Time) {
	if m.To == "" {
		return
	}
	list := a[m.To]
	if times > 0 {
		a[m.To] = append(list, arrival{ns: m.Namespace, min: m.Min, bytes: m.room()})
		return
	}
	for i := range list {
		if list[i].ended.IsZero() && list[i].ns == m.Namespace && list[i].min.Equal(m.Min) {
			list[i].ended = now
			return
		}
	}
}

// unseen returns what the sizes of a shard's files may not show yet.
func (a arriving) unseen(id catalog.ShardID, now time.Time) (sum int64) {
	kept := a[id][:0]
	for _, x := range a[id] {
		if x.ended.IsZero() || now.Sub(x.ended) < unwritten {
			kept = append(kept, x)
			sum += x.bytes
		}
	}
	a[id] = kept
	return sum
}
