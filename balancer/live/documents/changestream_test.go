package documents

import (
	"context"
	"encoding/hex"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// silentStream is a stream without events whose token is at a time.
type silentStream struct{ at bson.Timestamp }

func (silentStream) TryNext(context.Context) bool { return false }
func (silentStream) Decode(any) error             { return errors.New("no event") }
func (silentStream) Err() error                   { return nil }

func (s silentStream) ResumeToken() bson.Raw {
	if s.at.IsZero() {
		return nil
	}
	b := []byte{0x82, 0, 0, 0, byte(s.at.T), 0, 0, 0, byte(s.at.I)}
	token, _ := bson.Marshal(bson.D{{Key: "_data", Value: hex.EncodeToString(b) + "2B0229296E04"}})
	return token
}

// A stream that goes silent has been read completely only if its token has reached the end time.
func TestReadUntilTheEndTime(t *testing.T) {
	for _, c := range []struct {
		name string
		at   bson.Timestamp
		want error
	}{
		{"after the end", bson.Timestamp{T: 50, I: 4}, nil},
		{"at the end", bson.Timestamp{T: 50, I: 3}, nil},
		{"before the end", bson.Timestamp{T: 50, I: 2}, ErrNotReached},
		{"no token", bson.Timestamp{}, ErrNotReached},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := readUntil(t.Context(), silentStream{c.at}, bson.Timestamp{T: 50, I: 3}, nil)
			if !errors.Is(err, c.want) {
				t.Errorf("%v, not %v", err, c.want)
			}
		})
	}
}
