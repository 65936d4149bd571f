package store

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"
)

// Decimal arithmetic agrees with integers where both can tell.
func TestDecimalLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Int64Range(-1e9, 1e9).Draw(t, "a")
		b := rapid.Int64Range(-1e9, 1e9).Draw(t, "b")
		x, y := decimalOfInt(a), decimalOfInt(b)
		same := func(d bson.Decimal128, n int64) {
			if compare(decimalValue(d), int64Value(n)) != 0 {
				t.Fatalf("got %s, want %d", d, n)
			}
		}
		same(decimalAdd(x, y), a+b)
		same(decimalSubtract(x, y), a-b)
		same(decimalMultiply(x, y), a*b)
		if b != 0 {
			same(decimalMod(x, y), a%b)
			same(decimalDivide(decimalMultiply(x, y), y), a)
			same(decimalRound(decimalDivide(x, y), 0, roundCut), a/b)
		}
	})
}
