package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The bbolt library trusts the contents of a file. On a damaged page it panics, also on its own
// goroutines, or it reads past the end of the file, which kills the process. So this package validates
// every page before the library opens the file. It reads as much of a damaged file as possible.

// The format of a bbolt file: pages of the same size, with all numbers in the machine's byte order.
const (
	pageHeaderBytes   = 16 // id, flags, count, overflow
	pageElementBytes  = 16
	bucketHeaderBytes = 16 // root page, sequence
	metaBytes         = 64
	metaMagic         = 0xED0CDAED
	metaVersion       = 2

	flagBranch = 0x01
	flagLeaf   = 0x02
	flagBucket = 0x01 // flag of an element of a leaf page

	minPageSize = 1 << 9
	maxPageSize = 1 << 16
	// maxDepth is a depth that no valid tree reaches.
	maxDepth = 64
)

// errNoState is returned for a file that is not a bbolt database.
var errNoState = errors.New("it is not the state of a mock cluster")

// meta is a meta page. The first two pages of a file are meta pages; the newer one is valid.
type meta struct{ pageSize, root, pageCount, transaction uint64 }

// readMeta parses the contents of a meta page after the page header.
func readMeta(raw []byte) (meta, error) {
	order := binary.NativeEndian
	if order.Uint32(raw) != metaMagic {
		return meta{}, errNoState
	}
	if v := order.Uint32(raw[4:]); v != metaVersion {
		return meta{}, fmt.Errorf("its version %d is not supported", v)
	}
	sum := fnv.New64a()
	sum.Write(raw[:metaBytes-8])
	if sum.Sum64() != order.Uint64(raw[metaBytes-8:]) {
		return meta{}, errChecksum
	}
	m := meta{uint64(order.Uint32(raw[8:])), order.Uint64(raw[16:]), order.Uint64(raw[40:]), order.Uint64(raw[48:])}
	if m.pageSize < minPageSize || m.pageSize > maxPageSize || m.pageSize&(m.pageSize-1) != 0 {
		return meta{}, fmt.Errorf("a page size of %d", m.pageSize)
	}
	return m, nil
}

// fileReader reads the pages of a file.
type fileReader struct {
	file         io.ReaderAt
	meta         meta
	wantedBucket string // read only this bucket; empty for all
	seen         []bool
	onDamage     func(damage)
	onEntry      func(page uint64, bucket string, key, stored []byte)
}

// read passes all entries of a file of the given size to onEntry, and all damages to onDamage. It fails
// if nothing can be read.
func (f *fileReader) read(size int64) error {
	if err := f.selectMeta(uint64(size)); err != nil {
		return err
	}
	f.seen = make([]bool, f.meta.pageCount)
	f.readTree("", f.meta.root, nil, nil, 0)
	return nil
}

// selectMeta reads the two meta pages and selects the newer one.
func (f *fileReader) selectMeta(size uint64) error {
	first, errFirst := f.readMetaAt(0)
	var second meta
	errSecond := errNoState
	if errFirst == nil {
		second, errSecond = f.readMetaAt(first.pageSize)
	} else {
		for at := uint64(minPageSize); at <= maxPageSize && errSecond != nil; at *= 2 {
			if second, errSecond = f.readMetaAt(at); errSecond == nil && second.pageSize != at {
				errSecond = errNoState
			}
		}
	}
	if errFirst != nil && errSecond != nil {
		if errors.Is(errFirst, errChecksum) || errors.Is(errSecond, errChecksum) {
			return errors.New("both its first pages are damaged")
		}
		return errNoState
	}
	f.meta = first
	if errFirst != nil || errSecond == nil && second.transaction > first.transaction {
		f.meta = second
	}
	for page, err := range []error{errFirst, errSecond} {
		if err != nil {
			f.onDamage(damage{page: uint64(page), err: fmt.Errorf("%w; the newest change may be lost", err)})
		}
	}
	if there := size / f.meta.pageSize; f.meta.pageCount > there {
		f.onDamage(
			damage{page: there, err: fmt.Errorf("the file is cut short: it has %d of %d pages", there, f.meta.pageCount)},
		)
		f.meta.pageCount = there
	}
	return nil
}

func (f *fileReader) readMetaAt(offset uint64) (meta, error) {
	raw := make([]byte, pageHeaderBytes+metaBytes)
	if _, err := f.file.ReadAt(raw, int64(offset)); err != nil {
		return meta{}, err
	}
	return readMeta(raw[pageHeaderBytes:])
}

// readTree reads a page and its subtree. Keys must be in [min, max); nil means unbounded.
func (f *fileReader) readTree(bucket string, id uint64, min, max []byte, depth int) {
	raw, err := f.readPage(id, depth)
	if err == nil {
		err = f.readElements(bucket, id, raw, min, max, depth)
	}
	if err != nil {
		f.onDamage(damage{bucket: bucket, page: id, err: err})
	}
}

// readPage reads a page with its overflow pages.
func (f *fileReader) readPage(id uint64, depth int) ([]byte, error) {
	if id < 2 || id >= f.meta.pageCount {
		return nil, errors.New("it is beyond the end of the file")
	}
	if depth > maxDepth {
		return nil, errors.New("the tree is too deep")
	}
	order := binary.NativeEndian
	head := make([]byte, pageHeaderBytes)
	if _, err := f.file.ReadAt(head, int64(id*f.meta.pageSize)); err != nil {
		return nil, err
	}
	if own := order.Uint64(head); own != id {
		return nil, fmt.Errorf("its header says page %d", own)
	}
	overflow := uint64(order.Uint32(head[12:]))
	if overflow >= f.meta.pageCount-id {
		return nil, fmt.Errorf("its overflow of %d pages does not fit in the file", overflow)
	}
	for i := id; i <= id+overflow; i++ {
		if f.seen[i] {
			return nil, errors.New("it is used twice")
		}
		f.seen[i] = true
	}
	raw := make([]byte, (1+overflow)*f.meta.pageSize)
	if _, err := f.file.ReadAt(raw, int64(id*f.meta.pageSize)); err != nil {
		return nil, err
	}
	return raw, nil
}

func (f *fileReader) readElements(bucket string, id uint64, raw []byte, min, max []byte, depth int) error {
	order := binary.NativeEndian
	flags, count := order.Uint16(raw[8:]), int(order.Uint16(raw[10:]))
	if flags != flagBranch && flags != flagLeaf {
		return fmt.Errorf("its type %#x is unknown", flags)
	}
	if pageHeaderBytes+count*pageElementBytes > len(raw) || flags == flagBranch && count == 0 {
		return fmt.Errorf("it has %d elements", count)
	}
	list, err := f.parseElements(raw, flags, count, min, max)
	for i, e := range list {
		upTo := max
		if i+1 < len(list) {
			upTo = list[i+1].key
		}
		switch {
		case flags == flagBranch:
			f.readTree(bucket, e.child, e.key, upTo, depth+1)
		case bucket == "" && e.isBucket && f.wantedBucket != "" && f.wantedBucket != string(e.key):
		case bucket == "" && e.isBucket:
			f.readBucket(string(e.key), id, e.value, depth)
		case bucket == "" || e.isBucket:
			return fmt.Errorf("the element %x is of the wrong kind", e.key)
		default:
			f.onEntry(id, bucket, e.key, e.value)
		}
	}
	return err
}

// element is an element of a page: a child page, a bucket or an entry.
type element struct {
	key, value []byte
	child      uint64
	isBucket   bool
}

// parseElements parses the elements of a page up to the first invalid one.
func (f *fileReader) parseElements(raw []byte, flags uint16, count int, min, max []byte) (list []element, err error) {
	order := binary.NativeEndian
	for i := range count {
		at := pageHeaderBytes + i*pageElementBytes
		head := raw[at:]
		var e element
		var from, keySize, size uint64
		if flags == flagBranch {
			from, keySize, e.child = uint64(order.Uint32(head)), uint64(order.Uint32(head[4:])), order.Uint64(head[8:])
		} else {
			e.isBucket = order.Uint32(head)&flagBucket != 0
			from, keySize, size = uint64(order.Uint32(head[4:])), uint64(order.Uint32(head[8:])),
				uint64(order.Uint32(head[12:]))
		}
		begin := uint64(at) + from
		if begin < uint64(pageHeaderBytes+count*pageElementBytes) || begin+keySize+size > uint64(len(raw)) {
			return list, fmt.Errorf("its element %d is outside of the page", i)
		}
		e.key, e.value = raw[begin:begin+keySize], raw[begin+keySize:begin+keySize+size]
		low := i == 0 && min != nil && bytes.Compare(e.key, min) < 0
		if low || i > 0 && bytes.Compare(e.key, list[i-1].key) <= 0 || max != nil && bytes.Compare(e.key, max) >= 0 {
			return list, fmt.Errorf("its element %d is out of order", i)
		}
		list = append(list, e)
	}
	return list, nil
}

// readBucket reads a bucket. A bucket has its own root page, or is small and stored inline in its
// element on page id.
func (f *fileReader) readBucket(name string, id uint64, value []byte, depth int) {
	if len(value) < bucketHeaderBytes {
		f.onDamage(damage{bucket: name, page: id, err: errors.New("its bucket header is too short")})
		return
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		f.readTree(name, root, nil, nil, depth+1)
		return
	}
	inside := value[bucketHeaderBytes:]
	if len(inside) < pageHeaderBytes || binary.NativeEndian.Uint16(inside[8:]) != flagLeaf {
		f.onDamage(damage{bucket: name, page: id, err: errors.New("its inline bucket is invalid")})
		return
	}
	if err := f.readElements(name, id, inside, nil, nil, depth); err != nil {
		f.onDamage(damage{bucket: name, page: id, err: err})
	}
}
