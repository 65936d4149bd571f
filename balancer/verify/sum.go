package verify

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Hash is a 128-bit number: the hash of a document, or a combination of hashes.
type Hash struct{ High, Low uint64 }

// HashOf returns the first half of the SHA-256 of a document's BSON.
func HashOf(doc bson.Raw) Hash {
	sum := sha256.Sum256(doc)
	return Hash{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])}
}

func (h Hash) xor(o Hash) Hash { return Hash{h.High ^ o.High, h.Low ^ o.Low} }

// plus adds modulo 2^128.
func (h Hash) plus(o Hash) Hash {
	low, carry := bits.Add64(h.Low, o.Low, 0)
	high, _ := bits.Add64(h.High, o.High, carry)
	return Hash{high, low}
}

func (h Hash) minus(o Hash) Hash {
	low, borrow := bits.Sub64(h.Low, o.Low, 0)
	high, _ := bits.Sub64(h.High, o.High, borrow)
	return Hash{high, low}
}

// String returns 32 hexadecimal digits.
func (h Hash) String() string { return fmt.Sprintf("%016x%016x", h.High, h.Low) }

// MarshalText returns the hash as text, for JSON.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (h *Hash) UnmarshalText(text []byte) error {
	var b [16]byte
	if len(text) != 2*len(b) {
		return fmt.Errorf("a hash has 32 digits, not %d", len(text))
	}
	if _, err := hex.Decode(b[:], text); err != nil {
		return err
	}
	*h = Hash{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
	return nil
}

// Sum is the sum of a set of documents, independent of their order. XOR alone would not detect a
// document that occurs two more times; Add alone could not identify a single document.
type Sum struct {
	Docs  int64 `json:"docs"`
	Bytes int64 `json:"bytes"`
	XOR   Hash  `json:"xor"`
	Add   Hash  `json:"add"`
}

// put adds one document.
func (s *Sum) put(doc bson.Raw) {
	h := HashOf(doc)
	s.Docs++
	s.Bytes += int64(len(doc))
	s.XOR = s.XOR.xor(h)
	s.Add = s.Add.plus(h)
}

// Plus returns the sum of both sets.
func (s Sum) Plus(o Sum) Sum {
	return Sum{s.Docs + o.Docs, s.Bytes + o.Bytes, s.XOR.xor(o.XOR), s.Add.plus(o.Add)}
}
