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
	w := &writer{out: z, registry: registry()}
	w.writeSnapshot(s.Parts())
	if w.err != nil {
		z.Close() // the write has failed already
		return fmt.Errorf("writing a snapshot: %w", w.err)
	}
	return z.Close()
}

// writer writes records until one fails.
type writer struct {
	out      io.Writer
	registry *bson.Registry
	buffer   bytes.Buffer
	err      error
}

func (w *writer) writeRecord(k recordKind, payload []byte) {
	if w.err != nil {
		return
	}
	head := binary.AppendUvarint([]byte{byte(k)}, uint64(len(payload)))
	if _, w.err = w.out.Write(head); w.err == nil {
		_, w.err = w.out.Write(payload)
	}
}

func (w *writer) writeDocument(k recordKind, v any) {
	if w.err != nil {
		return
	}
	w.buffer.Reset()
	if w.err = encode(w.registry, &w.buffer, v); w.err == nil {
		w.writeRecord(k, w.buffer.Bytes())
	}
}

// writeEach writes one record for each element of a slice.
func writeEach[T any](w *writer, k recordKind, list []T) {
	for _, v := range list {
		w.writeDocument(k, v)
	}
}

func (w *writer) writeSnapshot(p catalog.SnapshotParts) {
	w.writeDocument(kindHead, head{
		Source: p.Source, Time: p.Time, ClusterTime: p.ClusterTime, ClusterID: p.ClusterID,
		Version: p.Version, Release: p.Release, Settings: p.Settings, SettingsProblem: p.SettingsProblem,
		Balancer: p.Balancer, Clock: clockOf(p.Clock), DeletionsKnown: p.DeletionsKnown, Unsharded: p.Unsharded,
		Outcomes: p.Outcomes, Lease: p.Lease, Pause: p.RunsPause, Compatibility: p.Compatibility,
		ConfigVersion: p.ConfigVersion, Members: p.Members,
	})
	writeEach(w, kindShard, p.Shards)
	writeEach(w, kindDatabase, p.Databases)
	writeEach(w, kindRouter, p.Routers)
	writeEach(w, kindDeletion, p.Deletions)
	writeEach(w, kindMigration, p.Migrations)
	writeEach(w, kindResharding, p.Reshardings)
	writeEach(w, kindChange, p.Changes)
	writeEach(w, kindAction, p.Actions)
	for _, name := range slices.Sorted(maps.Keys(p.Config)) {
		for _, doc := range p.Config[name] {
			w.writeDocument(kindDocument, document{name, doc})
		}
	}
	for _, c := range p.Collections {
		w.writeCollection(c)
	}
	w.writeRecord(kindEnd, nil)
}

func (w *writer) writeCollection(c *catalog.CollectionState) {
	entry := collection{
		Entry: c.Collection, Table: c.Table != nil, Zones: c.Zones != nil,
		Counts: c.Counts, Sizes: c.Sizes, Reported: c.ReportedStatus,
		Unindexed: c.Unindexed, IndexesKnown: c.IndexesKnown,
	}
	for _, lower := range c.EmptyZones {
		entry.EmptyZones = append(entry.EmptyZones, c.Pattern.Bound(lower))
	}
	for _, key := range c.Sampled {
		entry.Sampled = append(entry.Sampled, c.Pattern.Bound(key))
	}
	w.writeDocument(kindCollection, entry)
	for _, z := range c.Zones.Ranges() {
		w.writeDocument(kindZone, zone{z.ID, c.Pattern.Bound(z.Min), c.Pattern.Bound(z.Max), z.Zone})
	}
	for part := range slices.Chunk(c.ChunkSizes, sizesInRecord) {
		var s sizes
		for _, size := range part {
			s.Min = append(s.Min, c.Pattern.Bound(size.Min))
			s.Bytes, s.Documents = append(s.Bytes, size.Bytes), append(s.Documents, size.Documents)
			s.First, s.Last = append(s.First, boundOrNone(c, size.First)), append(s.Last, boundOrNone(c, size.Last))
		}
		w.writeDocument(kindSizes, s)
	}
	if c.Table == nil {
		return
	}
	for page := range c.Table.Pages() {
		w.writeRecord(kindPage, page)
	}
}

// boundOrNone returns the bound of a key; nil for the zero Key.
func boundOrNone(c *catalog.CollectionState, k catalog.Key) bson.Raw {
	if k.IsZero() {
		return nil
	}
	return c.Pattern.Bound(k)
}
