package keyorder

import (
	"bytes"
	"math/big"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func bigFormat(f float64, digits int) string { return new(big.Float).SetFloat64(f).Text('e', digits) }

// Damaged values must be survived, and even for them both implementations of
// the order agree and the encoding delimits itself.
func FuzzDamagedValues(f *testing.F) {
	for _, v := range []any{
		int32(1), int64(-1), 1.5, "text", bson.D{{Key: "a", Value: bson.A{int32(1), "x"}}}, bson.Binary{Data: []byte{1}},
		bson.Regex{Pattern: "a"}, bson.DBPointer{DB: "a"}, bson.CodeWithScope{Code: "a", Scope: bson.D{}},
		decimal128(f, "1.1"),
	} {
		r := raw(f, v)
		f.Add(byte(r.Type), r.Value, byte(r.Type), r.Value[:len(r.Value)-1])
	}
	f.Add(byte(3), bytes.Repeat([]byte{255, 255, 0, 0, 3, 0}, 400), byte(4), []byte{5})
	f.Fuzz(func(t *testing.T, ta byte, va []byte, tb byte, vb []byte) {
		a, b := bson.RawValue{Type: bson.Type(ta), Value: va}, bson.RawValue{Type: bson.Type(tb), Value: vb}
		x, y := Append(nil, a), Append(nil, b)
		if got, want := bytes.Compare(x, y), Compare(a, b); got != want {
			t.Errorf("%v %x against %v %x: encodings say %d, values %d", a.Type, va, b.Type, vb, got, want)
		}
		if EncodedSize(x) != len(x) {
			t.Errorf("encoding %x has %d bytes, Size says %d", x, len(x), EncodedSize(x))
		}
		Hash(a)
		if Restorable(a) {
			if got, _, ok := Restore(nil, x, a.Type); !ok || !bytes.Equal(got, va) {
				t.Errorf("%v %x restored as %x", a.Type, va, got)
			}
		}
		CompareDocuments(va, vb)
	})
}

// Whatever bytes are read as an encoding, nothing reaches beyond them.
func FuzzDamagedEncodings(f *testing.F) {
	f.Add(Append(nil, raw(f, bson.D{{Key: "a", Value: bson.A{int32(1), "x"}}})), byte(3))
	f.Add(Append(nil, raw(f, bson.Regex{Pattern: "a", Options: "i"})), byte(11))
	f.Add(Append(nil, raw(f, decimal128(f, "-1.1"))), byte(1))
	f.Fuzz(func(t *testing.T, enc []byte, typ byte) {
		if n := EncodedSize(enc); n > len(enc) {
			t.Errorf("size %d of %d bytes", n, len(enc))
		}
		if _, n, ok := Restore(nil, enc, bson.Type(typ)); ok && n > len(enc) {
			t.Errorf("restored from %d of %d bytes", n, len(enc))
		}
	})
}

func TestDeepNestingIsSurvived(t *testing.T) {
	doc := []byte{5, 0, 0, 0, 0}
	for range 100_000 {
		outer := append([]byte{0, 0, 0, 0, 3, 'a', 0}, doc...)
		outer = append(outer, 0)
		n := len(outer)
		outer[0], outer[1], outer[2], outer[3] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24)
		doc = outer
		if n > 20_000 {
			break
		}
	}
	v := bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: doc}
	if Compare(v, v) != 0 || EncodedSize(Append(nil, v)) == 0 {
		t.Error("a deep document is not equal to itself")
	}
	Hash(v)
}
