package value

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
		x, y := DecimalOfInt(a), DecimalOfInt(b)
		same := func(d bson.Decimal128, n int64) {
			if Compare(Decimal(d), Int64(n)) != 0 {
				t.Fatalf("got %s, want %d", d, n)
			}
		}
		same(DecimalAdd(x, y), a+b)
		same(DecimalSubtract(x, y), a-b)
		same(DecimalMultiply(x, y), a*b)
		if b != 0 {
			same(DecimalMod(x, y), a%b)
			same(DecimalDivide(DecimalMultiply(x, y), y), a)
			same(DecimalRound(DecimalDivide(x, y), 0, RoundTowardZero), a/b)
		}
	})
}
