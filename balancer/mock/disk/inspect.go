package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// inspection is the result of inspecting a directory's file.
type inspection struct {
	format  int
	names   nameResolver
	damages []damage // in the order found
}

// damageError returns a *DamageError if the file is damaged.
func (i *inspection) damageError() error {
	if len(i.damages) == 0 {
		return nil
	}
	first := i.damages[0]
	return &DamageError{i.names.describe(first), len(i.damages) - 1, first.err}
}

// inspect reads a whole file and passes every undamaged entry to keep.
func inspect(file *os.File, keep func(Entry)) (*inspection, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	in := &inspector{
		found:          inspection{names: newNameResolver()},
		computedTotals: map[string]total{},
		recordedTotals: map[string]total{},
		keep:           keep,
	}
	if in.found.format, err = readFormat(file, info.Size()); err != nil {
		return nil, err
	}
	in.hasChecksums = in.found.format != formatWithoutChecksums
	p := &fileReader{file: file, onEntry: in.addEntry, onDamage: in.addDamage}
	if err := p.read(info.Size()); err != nil {
		return nil, err
	}
	in.checkCompleteness()
	return &in.found, nil
}

// readFormat reads the format of a file, which determines how to read the rest. A file without a format
// entry counts as one of FormatVersion.
func readFormat(file io.ReaderAt, size int64) (format int, err error) {
	format = FormatVersion
	p := &fileReader{
		file:         file,
		wantedBucket: BucketMeta,
		onDamage:     func(damage) {},
		onEntry: func(_ uint64, _ string, key,
			stored []byte) {
			if string(key) != MetaFormat || len(stored) < 8 {
				return
			}
			if n := binary.BigEndian.Uint64(stored); n == formatWithoutChecksums && len(stored) == 8 || n > FormatVersion {
				format = int(n)
			}
		},
	}
	return format, p.read(size)
}

// inspector compares the contents of a file with its recorded totals.
type inspector struct {
	found                          inspection
	hasChecksums                   bool
	computedTotals, recordedTotals map[string]total
	metaKeys                       map[string]bool
	keep                           func(Entry)
}

func (in *inspector) addDamage(d damage) { in.found.damages = append(in.found.damages, d) }

func (in *inspector) addEntry(page uint64, bucket string, key, stored []byte) {
	value := stored
	if in.hasChecksums {
		sum := in.computedTotals[bucket]
		sum.add(stored)
		in.computedTotals[bucket] = sum
		var err error
		if value, err = unseal(bucket, key, stored); err != nil {
			in.addDamage(
				damage{page: page, bucket: bucket, key: key, value: stored[:max(0, len(stored)-checksumBytes)], err: err},
			)
			return
		}
	} else if isFormat := bucket == BucketMeta && string(key) == MetaFormat; !isFormat {
		if err := bson.Raw(value).Validate(); err != nil {
			in.addDamage(damage{page: page, bucket: bucket, key: key, value: value, err: err})
			return
		}
	}
	in.found.names.learn(bucket, key, value)
	switch {
	case bucket == BucketTotals:
		in.addRecordedTotal(string(key), value)
	case bucket == BucketMeta && string(key) == MetaTotals:
		in.addRecordedTotal(BucketTotals, value)
	default:
		in.keep(Entry{bucket, key, value})
	}
	if bucket == BucketMeta {
		in.addMetaKey(string(key))
	}
}

func (in *inspector) addRecordedTotal(bucket string, value []byte) {
	t, err := parseTotal(value)
	if err != nil {
		in.addDamage(damage{bucket: bucket, err: err})
		return
	}
	in.recordedTotals[bucket] = t
}

func (in *inspector) addMetaKey(key string) {
	if in.metaKeys == nil {
		in.metaKeys = map[string]bool{}
	}
	in.metaKeys[key] = true
}

// checkCompleteness records missing entries as damages.
func (in *inspector) checkCompleteness() {
	needed := []string{MetaFormat, MetaState, MetaParameters}
	if in.hasChecksums {
		needed = append(needed, MetaTotals)
	}
	for _, key := range needed {
		if !in.metaKeys[key] {
			in.addDamage(damage{bucket: BucketMeta, key: []byte(key), err: errors.New("it is missing")})
		}
	}
	if !in.hasChecksums {
		return
	}
	delete(in.computedTotals, BucketMeta)
	for bucket, there := range in.computedTotals {
		in.compareTotals(bucket, there, in.recordedTotals[bucket])
	}
	for bucket, told := range in.recordedTotals {
		if _, ok := in.computedTotals[bucket]; !ok {
			in.compareTotals(bucket, total{}, told)
		}
	}
}

func (in *inspector) compareTotals(bucket string, computed, recorded total) {
	switch {
	case computed == recorded:
	case computed.entries != recorded.entries:
		in.addDamage(damage{bucket: bucket, err: fmt.Errorf("it has %d of its %d entries", computed.entries,
			recorded.entries)})
	default:
		in.addDamage(damage{bucket: bucket, err: errors.New("some of its entries are not the newest")})
	}
}
