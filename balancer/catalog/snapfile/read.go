package snapfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

func read(from io.Reader, limits Limits) (parts catalog.SnapshotParts, err error) {
	var start [len(magic) + 2]byte
	n, err := io.ReadFull(from, start[:])
	switch {
	case n < len(magic) || string(start[:len(magic)]) != magic:
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return parts, err
		}
		return parts, ErrNotSnapshot
	case err != nil:
		return parts, fmt.Errorf("%w: it ends after its first word", ErrDamaged)
	}
	if v := binary.LittleEndian.Uint16(start[len(magic):]); v != version {
		return parts, fmt.Errorf("%w: version %d, and this one reads %d", ErrVersion, v, version)
	}
	z, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return parts, err
	}
	defer z.Close()
	r := &reader{
		in:       bufio.NewReaderSize(z, 1<<16),
		limits:   limits,
		registry: registry(),
		parts:    catalog.SnapshotParts{},
	}
	if err := r.readRecords(); err != nil {
		return parts, err
	}
	return r.parts, nil
}

// reader reads records.
type reader struct {
	in       *bufio.Reader
	limits   Limits // the remaining amounts
	registry *bson.Registry
	payload  bytes.Buffer

	parts   catalog.SnapshotParts
	started bool
	current *partialCollection
}

// partialCollection is the collection that is being read.
type partialCollection struct {
	state *catalog.CollectionState
	table *catalog.PageReader // nil = no table
}

// readRecords reads all records up to the end record.
func (r *reader) readRecords() error {
	for {
		k, err := r.readRecord()
		if err != nil {
			return damagedError(err)
		}
		if k == kindHead == r.started {
			return fmt.Errorf("%w: the head is not the first record", ErrDamaged)
		}
		r.started = true
		if k < kindZone {
			if err := r.endCollection(); err != nil {
				return damagedError(err)
			}
		}
		if k == kindEnd {
			return r.checkEnd()
		}
		if err := r.addRecord(k); err != nil {
			return damagedError(err)
		}
	}
}

// damagedError converts an error into an error of this package.
func damagedError(err error) error {
	switch {
	case errors.Is(err, ErrDamaged), errors.Is(err, ErrTooLarge):
		return err
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it is cut short", ErrDamaged)
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// checkEnd reads to the end of the compressed part, which verifies its checksum.
func (r *reader) checkEnd() error {
	switch _, err := r.in.ReadByte(); {
	case err == nil:
		return fmt.Errorf("%w: something follows the end", ErrDamaged)
	case !errors.Is(err, io.EOF):
		return damagedError(err)
	}
	return nil
}

// readRecord reads a record into the payload. It allocates memory for the data that exist, not for the
// length that the record claims.
func (r *reader) readRecord() (recordKind, error) {
	if r.limits.Records--; r.limits.Records < 0 {
		return 0, fmt.Errorf("%w: it has too many records", ErrTooLarge)
	}
	k, err := r.in.ReadByte()
	if err != nil {
		return 0, err
	}
	length, err := binary.ReadUvarint(r.in)
	if err != nil {
		return 0, err
	}
	if length > uint64(r.limits.RecordBytes) || length > uint64(r.limits.Bytes) {
		return 0, fmt.Errorf("%w: a record of %d bytes", ErrTooLarge, length)
	}
	r.limits.Bytes -= int64(length)
	r.payload.Reset()
	if n, err := io.CopyN(&r.payload, r.in, int64(length)); err != nil || n < int64(length) {
		return 0, errors.Join(err, io.ErrUnexpectedEOF)
	}
	return recordKind(k), nil
}

// addRecord adds a record to the snapshot.
func (r *reader) addRecord(k recordKind) error {
	switch k {
	case kindHead:
		return r.addHead()
	case kindShard:
		return appendRecord(r, &r.parts.Shards)
	case kindDatabase:
		return appendRecord(r, &r.parts.Databases)
	case kindRouter:
		return appendRecord(r, &r.parts.Routers)
	case kindDeletion:
		return appendRecord(r, &r.parts.Deletions)
	case kindMigration:
		return appendRecord(r, &r.parts.Migrations)
	case kindResharding:
		return appendRecord(r, &r.parts.Reshardings)
	case kindChange:
		return appendRecord(r, &r.parts.Changes)
	case kindAction:
		return appendRecord(r, &r.parts.Actions)
	case kindDocument:
		return r.addDocument()
	case kindCollection:
		return r.beginCollection()
	case kindZone, kindSizes, kindPage:
		return r.addCollectionRecord(k)
	}
	return fmt.Errorf("%w: a record of kind %d", ErrDamaged, k)
}

// appendRecord appends the decoded record to a slice.
func appendRecord[T any](r *reader, to *[]T) error {
	var v T
	if err := decode(r.registry, r.payload.Bytes(), &v); err != nil {
		return err
	}
	*to = append(*to, v)
	return nil
}

func (r *reader) addHead() error {
	var h head
	if err := decode(r.registry, r.payload.Bytes(), &h); err != nil {
		return err
	}
	p := &r.parts
	p.Source, p.Time, p.ClusterTime, p.ClusterID = h.Source, h.Time, h.ClusterTime, h.ClusterID
	p.Clock = h.Clock.balancerClock()
	p.Version, p.ConfigVersion, p.Release = h.Version, h.ConfigVersion, headRelease(h)
	p.Settings, p.SettingsProblem = h.Settings, h.SettingsProblem
	if h.Settings.Release == h.Release {
		p.Settings.Release = p.Release
	}
	p.Balancer, p.DeletionsKnown, p.Unsharded, p.Outcomes = h.Balancer, h.DeletionsKnown, h.Unsharded, h.Outcomes
	p.Lease, p.RunsPause, p.Compatibility, p.Members = h.Lease, h.Pause, h.Compatibility, h.Members
	return nil
}

func (r *reader) addDocument() error {
	var d document
	if err := decode(r.registry, r.payload.Bytes(), &d); err != nil {
		return err
	}
	if r.parts.Config == nil {
		r.parts.Config = map[string][]bson.Raw{}
	}
	r.parts.Config[d.Collection] = append(r.parts.Config[d.Collection], d.Document)
	return nil
}
