package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// inspection is what was found in the file of a directory.
type inspection struct {
	format  int
	names   names
	damages []damage // in the order in which they were found
}

// err returns a *DamageError if the file is not as it was written.
func (i *inspection) err() error {
	if len(i.damages) == 0 {
		return nil
	}
	first := i.damages[0]
	return &DamageError{i.names.describe(first), len(i.damages) - 1, first.err}
}

// inspect reads a whole file and hands every entry that is as it was written to
// keep.
func inspect(file *os.File, keep func(Entry)) (*inspection, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	in := &inspector{found: inspection{names: newNames()}, totals: map[string]total{}, told: map[string]total{},
		keep: keep}
	if in.found.format, err = formatOf(file, info.Size()); err != nil {
		return nil, err
	}
	in.sealed = in.found.format != formatWithoutSums
	p := &pages{file: file, entry: in.entry, damage: in.damage}
	if err := p.read(info.Size()); err != nil {
		return nil, err
	}
	in.compare()
	return &in.found, nil
}

// formatOf finds out which format a file has, before anything else can be
// read. One that does not say so has the one of today.
func formatOf(file io.ReaderAt, size int64) (format int, err error) {
	format = FormatVersion
	p := &pages{file: file, only: BucketMeta, damage: func(damage) {}, entry: func(_ uint64, _ string, key,
		stored []byte) {
		if string(key) != MetaFormat || len(stored) < 8 {
			return
		}
		if n := binary.BigEndian.Uint64(stored); n == formatWithoutSums && len(stored) == 8 || n > FormatVersion {
			format = int(n)
		}
	}}
	return format, p.read(size)
}

// inspector compares what a file holds with what it says that it holds.
type inspector struct {
	found        inspection
	sealed       bool
	totals, told map[string]total
	meta         map[string]bool
	keep         func(Entry)
}

func (in *inspector) damage(d damage) { in.found.damages = append(in.found.damages, d) }

func (in *inspector) entry(page uint64, bucket string, key, stored []byte) {
	value := stored
	if in.sealed {
		sum := in.totals[bucket]
		sum.add(stored)
		in.totals[bucket] = sum
		var err error
		if value, err = unseal(bucket, key, stored); err != nil {
			in.damage(damage{page: page, bucket: bucket, key: key, value: stored[:max(0, len(stored)-checksumBytes)], err: err})
			return
		}
	} else if isFormat := bucket == BucketMeta && string(key) == MetaFormat; !isFormat {
		if err := bson.Raw(value).Validate(); err != nil {
			in.damage(damage{page: page, bucket: bucket, key: key, value: value, err: err})
			return
		}
	}
	in.found.names.note(bucket, key, value)
	switch {
	case bucket == BucketSums:
		in.tell(string(key), value)
	case bucket == BucketMeta && string(key) == MetaSums:
		in.tell(BucketSums, value)
	default:
		in.keep(Entry{bucket, key, value})
	}
	if bucket == BucketMeta {
		in.note(string(key))
	}
}

func (in *inspector) tell(bucket string, value []byte) {
	t, err := totalOf(value)
	if err != nil {
		in.damage(damage{bucket: bucket, err: err})
		return
	}
	in.told[bucket] = t
}

func (in *inspector) note(key string) {
	if in.meta == nil {
		in.meta = map[string]bool{}
	}
	in.meta[key] = true
}

// compare looks for what is not there any more.
func (in *inspector) compare() {
	needed := []string{MetaFormat, MetaState, MetaParameters}
	if in.sealed {
		needed = append(needed, MetaSums)
	}
	for _, key := range needed {
		if !in.meta[key] {
			in.damage(damage{bucket: BucketMeta, key: []byte(key), err: errors.New("it is missing")})
		}
	}
	if !in.sealed {
		return
	}
	delete(in.totals, BucketMeta)
	for bucket, there := range in.totals {
		in.difference(bucket, there, in.told[bucket])
	}
	for bucket, told := range in.told {
		if _, there := in.totals[bucket]; !there {
			in.difference(bucket, total{}, told)
		}
	}
}

func (in *inspector) difference(bucket string, there, told total) {
	switch {
	case there == told:
	case there.entries != told.entries:
		in.damage(damage{bucket: bucket, err: fmt.Errorf("%d of its %d entries are there", there.entries, told.entries)})
	default:
		in.damage(damage{bucket: bucket, err: errors.New("some of its entries are not the newest")})
	}
}
