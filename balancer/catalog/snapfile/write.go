package snapfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/klauspost/compress/zstd"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Write writes a snapshot.
func Write(to io.Writer, s *catalog.Snapshot) error {
	if _, err := to.Write(binary.LittleEndian.AppendUint16([]byte(magic), version)); err != nil {
		return err
	}
	z, err := zstd.NewWriter(to, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2),
		zstd.WithWindowSize(1<<20))
	if err != nil {
		return err
	}
	w := &writer{to: z, registry: registry()}
	w.snapshot(s.Parts())
	if w.err != nil {
		z.Close() // it has failed already
		return fmt.Errorf("writing a snapshot: %w", w.err)
	}
	return z.Close()
}

// writer writes records until one fails.
type writer struct {
	to       io.Writer
	registry *bson.Registry
	buffer   bytes.Buffer
	err      error
}

func (w *writer) record(k kind, payload []byte) {
	if w.err != nil {
		return
	}
	head := binary.AppendUvarint([]byte{byte(k)}, uint64(len(payload)))
	if _, w.err = w.to.Write(head); w.err == nil {
		_, w.err = w.to.Write(payload)
	}
}

func (w *writer) document(k kind, v any) {
	if w.err != nil {
		return
	}
	w.buffer.Reset()
	if w.err = encode(w.registry, &w.buffer, v); w.err == nil {
		w.record(k, w.buffer.Bytes())
	}
}

// each writes a record for each of a list.
func each[T any](w *writer, k kind, list []T) {
	for _, v := range list {
		w.document(k, v)
	}
}

func (w *writer) snapshot(p catalog.SnapshotParts) {
	w.document(kindHead, head{
		Source: p.Source, Time: p.Time, ClusterTime: p.ClusterTime, ClusterID: p.ClusterID,
		Version: p.Version, Release: p.Release, Settings: p.Settings, SettingsProblem: p.SettingsProblem,
		Balancer: p.Balancer, Clock: clockOf(p.Clock), DeletionsKnown: p.DeletionsKnown, Unsharded: p.Unsharded,
		Outcomes: p.Outcomes, Lease: p.Lease, Pause: p.Pause, Compatibility: p.Compatibility,
		ConfigVersion: p.ConfigVersion, Members: p.Members,
	})
	each(w, kindShard, p.Shards)
	each(w, kindDatabase, p.Databases)
	each(w, kindRouter, p.Routers)
	each(w, kindDeletion, p.Deletions)
	each(w, kindMigration, p.Migrations)
	each(w, kindResharding, p.Reshardings)
	each(w, kindChange, p.Changes)
	each(w, kindAction, p.Actions)
	for _, name := range slices.Sorted(maps.Keys(p.Config)) {
		for _, doc := range p.Config[name] {
			w.document(kindDocument, document{name, doc})
		}
	}
	for _, c := range p.Collections {
		w.collection(c)
	}
	w.record(kindEnd, nil)
}

func (w *writer) collection(c *catalog.CollectionState) {
	entry := collection{
		Entry: c.Collection, Table: c.Table != nil, Zones: c.Zones != nil,
		Counts: c.Counts, Sizes: c.Sizes, Reported: c.Reported,
		Unindexed: c.Unindexed, IndexesKnown: c.IndexesKnown,
	}
	for _, lower := range c.EmptyZones {
		entry.EmptyZones = append(entry.EmptyZones, c.Pattern.Bound(lower))
	}
	for _, key := range c.Sampled {
		entry.Sampled = append(entry.Sampled, c.Pattern.Bound(key))
	}
	w.document(kindCollection, entry)
	for _, z := range c.Zones.Ranges() {
		w.document(kindZone, zone{z.ID, c.Pattern.Bound(z.Min), c.Pattern.Bound(z.Max), z.Zone})
	}
	for part := range slices.Chunk(c.ChunkSizes, sizesInRecord) {
		var s sizes
		for _, size := range part {
			s.Min = append(s.Min, c.Pattern.Bound(size.Min))
			s.Bytes, s.Documents = append(s.Bytes, size.Bytes), append(s.Documents, size.Documents)
			s.First, s.Last = append(s.First, boundOrNone(c, size.First)), append(s.Last, boundOrNone(c, size.Last))
		}
		w.document(kindSizes, s)
	}
	if c.Table == nil {
		return
	}
	for page := range c.Table.Pages() {
		w.record(kindPage, page)
	}
}

// boundOrNone returns no document for no key.
func boundOrNone(c *catalog.CollectionState, k catalog.Key) bson.Raw {
	if k.IsZero() {
		return nil
	}
	return c.Pattern.Bound(k)
}
