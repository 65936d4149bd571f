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

// DocumentHash is an entry of a list.
type DocumentHash struct {
	ID   bson.RawValue
	Hash Hash
}

// A list is a sequence of BSON documents. {ns} begins a collection. {_id, hash} is a document of the
// collection, in the order of _id, with a CRC of the _id after the hash. The hashes sum to the sums of
// the digest.

// AppendCollection appends the entry that begins a collection.
func AppendCollection(to []byte, ns string) ([]byte, error) {
	raw, err := bson.Marshal(bson.D{{Key: "ns", Value: ns}})
	return append(to, raw...), err
}

// AppendDocumentHash appends the entry of a document.
func AppendDocumentHash(to []byte, doc bson.Raw) ([]byte, error) {
	h, id := HashOf(doc), doc.Lookup("_id")
	sum := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, h.High), h.Low)
	raw, err := bson.Marshal(bson.D{{Key: "_id", Value: id}, {Key: "hash", Value: append(sum, idChecksum(id)...)}})
	return append(to, raw...), err
}

// idChecksum returns the CRC-32 of an _id. The sums of a digest do not protect the _id.
func idChecksum(id bson.RawValue) []byte {
	sum := crc32.Update(crc32.ChecksumIEEE([]byte{byte(id.Type)}), crc32.IEEETable, id.Value)
	return binary.BigEndian.AppendUint32(nil, sum)
}

// maxEntryBytes is the maximum size of an entry: a document's _id is smaller than the document.
const maxEntryBytes = 17 << 20

// ErrListMismatch says that a list is damaged, or belongs to another digest.
var ErrListMismatch = errors.New("the list of documents does not fit the digest")

// HashListReader reads a list sequentially.
type HashListReader struct {
	from   *bufio.Reader
	offset int64    // offset of the next entry
	next   bson.Raw // the entry that peek has read
}

// NewHashListReader returns a HashListReader.
func NewHashListReader(from io.Reader) *HashListReader {
	return &HashListReader{from: bufio.NewReaderSize(from, 1<<20)}
}

// Offset returns the offset of the next entry in bytes.
func (l *HashListReader) Offset() int64 { return l.offset }

// peek returns the next entry, or io.EOF at the end and for a truncated last entry.
func (l *HashListReader) peek() (bson.Raw, error) {
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

func (l *HashListReader) take() {
	l.offset += int64(len(l.next))
	l.next = nil
}

// SkipToCollection skips to the documents of a collection.
func (l *HashListReader) SkipToCollection(ns string) error {
	for {
		raw, err := l.peek()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: %s is not in it", ErrListMismatch, ns)
		}
		if err != nil {
			return err
		}
		l.take()
		if name, ok := raw.Lookup("ns").StringValueOK(); ok && name == ns {
			return nil
		}
	}
}

// ReadUntil calls each with the documents of the collection below the _id to; the zero value reads to
// the end of the collection.
func (l *HashListReader) ReadUntil(to bson.RawValue, each func(DocumentHash)) error {
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

// ReadRange returns the documents of the range that follows the documents already read. It returns an error
// unless they add up to sum.
func (l *HashListReader) ReadRange(from, to bson.RawValue, sum Sum) (list []DocumentHash, err error) {
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

// withHash adds a document of unknown size.
func (s Sum) withHash(h Hash) Sum { return Sum{s.Docs + 1, s.Bytes, s.XOR.xor(h), s.Add.plus(h)} }

// CheckPrefix reads the documents that belong to the complete ranges of an unfinished digest, and
// returns the offset at which to write the others.
func (l *HashListReader) CheckPrefix(d Digest) (at int64, err error) {
	var got Sum
	if next := d.NextID(); next.Type != 0 {
		err = l.ReadUntil(next, func(one DocumentHash) { got = got.withHash(one.Hash) })
	}
	want := total(d.Ranges[:len(d.Ranges)-1])
	if got.Bytes = want.Bytes; err == nil && got != want {
		err = ErrListMismatch
	}
	return l.offset, err
}
