package verify

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// DocumentHash is a document in a list.
type DocumentHash struct {
	ID   bson.RawValue
	Hash Hash
}

// A list is BSON documents one after the other: {ns} begins a collection, {_id, hash} is one of its
// documents, in the order of _id, with a CRC of the _id behind the hash. The hashes come to the sums of the digest.

// AppendCollection appends where a collection begins.
func AppendCollection(to []byte, ns string) ([]byte, error) {
	raw, err := bson.Marshal(bson.D{{Key: "ns", Value: ns}})
	return append(to, raw...), err
}

// AppendDocumentHash appends a document.
func AppendDocumentHash(to []byte, doc bson.Raw) ([]byte, error) {
	h, id := HashOf(doc), doc.Lookup("_id")
	sum := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, h.High), h.Low)
	raw, err := bson.Marshal(bson.D{{Key: "_id", Value: id}, {Key: "hash", Value: append(sum, idChecksum(id)...)}})
	return append(to, raw...), err
}

// idChecksum returns the CRC-32 of an _id, of which the sums of a digest know nothing.
func idChecksum(id bson.RawValue) []byte {
	sum := crc32.Update(crc32.ChecksumIEEE([]byte{byte(id.Type)}), crc32.IEEETable, id.Value)
	return binary.BigEndian.AppendUint32(nil, sum)
}

// maxEntryBytes is how large an entry may be, in bytes: a document's _id is smaller than the document.
const maxEntryBytes = 17 << 20

// ErrListMismatch says that a list is damaged, or is that of another digest.
var ErrListMismatch = errors.New("the list of documents does not fit the digest")

// ListReader reads a list from its beginning to its end.
type ListReader struct {
	from   *bufio.Reader
	offset int64    // of the next entry
	next   bson.Raw // read, and not taken
}

// NewListReader returns one.
func NewListReader(from io.Reader) *ListReader {
	return &ListReader{from: bufio.NewReaderSize(from, 1<<20)}
}

// Offset is where the next entry begins, in bytes.
func (l *ListReader) Offset() int64 { return l.offset }

// peek returns the next entry; io.EOF at the end, also where the last entry was cut off.
func (l *ListReader) peek() (bson.Raw, error) {
	if l.next != nil {
		return l.next, nil
	}
	head, err := l.from.Peek(4)
	if err != nil {
		return nil, io.EOF
	}
	n := int(int32(binary.LittleEndian.Uint32(head))) //nolint:gosec // it may be anything, and is looked at
	if n < 5 || n > maxEntryBytes {
		return nil, fmt.Errorf("%w: at byte %d", ErrListMismatch, l.offset)
	}
	raw := make(bson.Raw, n)
	if _, err := io.ReadFull(l.from, raw); err != nil {
		return nil, io.EOF
	}
	if raw.Validate() != nil {
		return nil, fmt.Errorf("%w: at byte %d", ErrListMismatch, l.offset)
	}
	l.next = raw
	return raw, nil
}

func (l *ListReader) take() {
	l.offset += int64(len(l.next))
	l.next = nil
}

// Collection goes to where the documents of a collection begin.
func (l *ListReader) Collection(ns string) error {
	for {
		raw, err := l.peek()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: %s is not in it", ErrListMismatch, ns)
		}
		if err != nil {
			return err
		}
		l.take()
		if name, is := raw.Lookup("ns").StringValueOK(); is && name == ns {
			return nil
		}
	}
}

// ReadUntil calls each with the documents of the collection up to an _id, which is not read; the zero
// value is the end of the collection.
func (l *ListReader) ReadUntil(to bson.RawValue, each func(DocumentHash)) error {
	for {
		raw, err := l.peek()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		id, err := raw.LookupErr("_id")
		if err != nil || to.Type != 0 && keyorder.Compare(id, to) >= 0 {
			return nil //nolint:nilerr // the next collection begins
		}
		_, sum, is := raw.Lookup("hash").BinaryOK()
		if !is || len(sum) != 20 || !bytes.Equal(sum[16:], idChecksum(id)) {
			return fmt.Errorf("%w: at byte %d", ErrListMismatch, l.offset)
		}
		l.take()
		each(DocumentHash{id, Hash{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])}})
	}
}

// Range returns the documents of a range that follows those already read. They add up to sum.
func (l *ListReader) Range(from, to bson.RawValue, sum Sum) (list []DocumentHash, err error) {
	if from.Type != 0 {
		if err := l.ReadUntil(from, func(DocumentHash) {}); err != nil {
			return nil, err
		}
	}
	if sum.Docs > 0 {
		list = make([]DocumentHash, 0, min(sum.Docs, 1<<20))
	}
	err = l.ReadUntil(to, func(d DocumentHash) { list = append(list, d) })
	if err == nil && !SumMatches(list, sum) {
		err = ErrListMismatch
	}
	return list, err
}

// SumMatches reports whether documents add up to sum.
func SumMatches(list []DocumentHash, sum Sum) bool {
	var is Sum
	for _, d := range list {
		is = is.withHash(d.Hash)
	}
	is.Bytes = sum.Bytes
	return is == sum
}

// withHash adds a document whose size is not known.
func (s Sum) withHash(h Hash) Sum { return Sum{s.Docs + 1, s.Bytes, s.XOR.xor(h), s.Add.plus(h)} }

// CheckPrefix reads the documents that a digest which is not finished has for good, and returns where
// the others are to be written.
func (l *ListReader) CheckPrefix(d Digest) (at int64, err error) {
	var got Sum
	if next := d.Next(); next.Type != 0 {
		err = l.ReadUntil(next, func(one DocumentHash) { got = got.withHash(one.Hash) })
	}
	want := total(d.Ranges[:len(d.Ranges)-1])
	if got.Bytes = want.Bytes; err == nil && got != want {
		err = ErrListMismatch
	}
	return l.offset, err
}
