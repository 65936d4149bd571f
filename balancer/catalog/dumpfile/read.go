package dumpfile

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// reader builds a Snapshot from a dump.
type reader struct {
	// readFile returns the content of a file; nil if it does not exist.
	readFile func(name string) ([]byte, error)
	parts    catalog.SnapshotParts
}

// read returns a Snapshot of the files of a dump.
func read(file func(name string) ([]byte, error), name string) (*catalog.Snapshot, error) {
	r := &reader{readFile: file, parts: catalog.SnapshotParts{Config: map[string][]bson.Raw{}}}
	r.parts.Source = catalog.Source{
		Kind: catalog.SourceFile, Name: name, Origin: catalog.Origin{Kind: catalog.SourceLive, Name: catalog.MongoDump},
	}
	for _, part := range []func() error{
		r.readSmallCollections, r.readRelease, r.readSettings, r.readLogs, r.readCollections,
	} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	r.setTime()
	return catalog.NewSnapshot(r.parts), nil
}

func (r *reader) addGap(what, ns, format string, args ...any) {
	r.parts.Source.Gaps = append(r.parts.Source.Gaps,
		catalog.Gap{What: what, Namespace: ns, Reason: fmt.Sprintf(format, args...)})
}

// maxDocumentBytes is an upper limit of the size of a document, in bytes.
const maxDocumentBytes = 17 << 20

// readDocuments returns the documents of a collection, which share the memory of its
// file.
func (r *reader) readDocuments(name string) ([]bson.Raw, error) {
	data, err := r.readFile(name + ".bson")
	if err != nil {
		return nil, err
	}
	var docs []bson.Raw
	for rest := data; len(rest) > 0; {
		if len(rest) < 4 {
			return nil, fmt.Errorf("%s.bson: %w: it is cut short after %d documents", name, ErrDamaged, len(docs))
		}
		size := int64(binary.LittleEndian.Uint32(rest))
		if size < 5 || size > maxDocumentBytes {
			return nil, fmt.Errorf("%s.bson: %w: document %d has %d bytes", name, ErrDamaged, len(docs)+1, size)
		}
		if size > int64(len(rest)) {
			return nil, fmt.Errorf("%s.bson: %w: it is cut short after %d documents", name, ErrDamaged, len(docs))
		}
		doc := bson.Raw(rest[:size:size])
		if err := doc.Validate(); err != nil {
			return nil, fmt.Errorf("%s.bson: %w: document %d: %w", name, ErrDamaged, len(docs)+1, err)
		}
		docs, rest = append(docs, doc), rest[size:]
	}
	return docs, nil
}

// readList reads a small collection. An invalid document is recorded as a gap.
func readList[T any](r *reader, name string, parse func(bson.Raw) (T, error)) (values []T, err error) {
	docs, err := r.readDocuments(name)
	if err != nil {
		return nil, err
	}
	for _, doc := range docs {
		v, err := parse(doc)
		if err != nil {
			r.addGap(name, "", "%v", err)
			continue
		}
		values = append(values, v)
	}
	if len(docs) > 0 && name != "mongos" {
		r.parts.Config[name] = docs
	}
	return values, nil
}

// readSmallCollections reads the small collections.
func (r *reader) readSmallCollections() (err error) {
	p := &r.parts
	shards, err := readList(r, "shards", catalog.ParseShard)
	if err != nil {
		return err
	}
	if len(shards) == 0 {
		return fmt.Errorf("%w: it has no shard", ErrNotDump)
	}
	known := map[catalog.ShardID]bool{}
	for _, shard := range shards {
		if known[shard.ID] {
			return fmt.Errorf("shards.bson: %w: it has the shard %s twice", ErrDamaged, shard.ID)
		}
		known[shard.ID] = true
		p.Shards = append(p.Shards, catalog.ShardState{Shard: shard})
	}
	if p.Databases, err = readList(r, "databases", catalog.ParseDatabase); err != nil {
		return err
	}
	if p.Routers, err = readList(r, "mongos", catalog.ParseRouter); err != nil {
		return err
	}
	ids, err := readList(r, "version", func(doc bson.Raw) (bson.ObjectID, error) {
		id, _ := doc.Lookup("clusterId").ObjectIDOK()
		return id, nil
	})
	for _, id := range ids {
		p.ClusterID = id
	}
	return err
}

// readRelease determines the release from the server version that mongodump has recorded, from the
// router that connected last, or from the form of the chunks.
func (r *reader) readRelease() error {
	var prelude struct{ ServerVersion string }
	for _, name := range []string{"prelude.json", "../prelude.json"} {
		data, err := r.readFile(name)
		if err != nil {
			return err
		}
		if data != nil && json.Unmarshal(data, &prelude) == nil && prelude.ServerVersion != "" {
			r.parts.Version = prelude.ServerVersion
		}
	}
	last := catalog.Router{}
	for _, router := range r.parts.Routers {
		if router.Version != "" && !router.Ping.Before(last.Ping) {
			last = router
		}
	}
	r.parts.Version = cmp.Or(r.parts.Version, last.Version)
	line, known := catalog.ReleaseOf(r.parts.Version)
	if !known {
		line, r.parts.Version = catalog.Release80, catalog.Release80.String()
		r.addGap("version", "", "no router reports it: %s is assumed", line)
	}
	r.parts.Release = line
	return nil
}

func (r *reader) readSettings() error {
	docs, err := readList(r, "settings", func(doc bson.Raw) (bson.Raw, error) { return doc, nil })
	if err != nil {
		return err
	}
	settings := catalog.DefaultSettingsOf(r.parts.Release)
	err = settings.Load(func(id string) (bson.Raw, error) {
		for _, doc := range docs {
			if text, _ := doc.Lookup("_id").StringValueOK(); text == id {
				return doc, nil
			}
		}
		return nil, nil
	})
	if err != nil {
		r.parts.SettingsProblem = err.Error()
	}
	r.parts.Settings, r.parts.Balancer.Mode = settings, settings.Mode
	return nil
}

// readLogs reads the entries of the logs. setTime removes entries that are too old.
func (r *reader) readLogs() error {
	for name, to := range map[string]*[]catalog.LogEntry{"changelog": &r.parts.Changes, "actionlog": &r.parts.Actions} {
		docs, err := r.readDocuments(name)
		if err != nil {
			return err
		}
		for _, doc := range docs {
			*to = append(*to, catalog.ParseLogEntry(doc))
		}
	}
	return nil
}

// setTime sets the snapshot's time to the latest time found in the dump, and removes log entries older
// than catalog.LogSpan.
func (r *reader) setTime() {
	p := &r.parts
	for _, router := range p.Routers {
		p.Time = laterTime(p.Time, router.Ping)
	}
	for _, log := range [][]catalog.LogEntry{p.Changes, p.Actions} {
		for _, e := range log {
			p.Time = laterTime(p.Time, e.Time)
		}
	}
	if p.Time.IsZero() {
		for _, c := range p.Collections {
			p.Time = laterTime(p.Time, c.LastMod)
		}
	}
	r.addGap("time", "", "not recorded in a dump: %s is the time of its last event",
		p.Time.UTC().Format(time.RFC3339))
	p.Clock = catalog.ClockFromLogs(p.Actions, p.Changes)
	since := p.Time.Add(-catalog.LogSpan)
	for _, log := range []*[]catalog.LogEntry{&p.Changes, &p.Actions} {
		var recent []catalog.LogEntry
		for _, e := range *log {
			if e.Time.After(since) {
				recent = append(recent, e)
			}
		}
		*log = recent
	}
}

func laterTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
