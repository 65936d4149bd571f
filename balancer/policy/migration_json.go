package policy

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// migrationJSON is the JSON form of a migration. Bounds have the JSON form of catalog.Key. The donor
// chooses a missing upper bound.
type migrationJSON struct {
	Namespace         string               `json:"ns"`
	UUID              uuidJSON             `json:"uuid,omitzero"`
	From              catalog.ShardID      `json:"from"`
	To                catalog.ShardID      `json:"to"`
	Min               catalog.Key          `json:"min,omitzero"`
	Max               catalog.Key          `json:"max,omitzero"`
	ChunkVersion      catalog.ChunkVersion `json:"chunkVersion,omitzero"`
	Force             forceJSON            `json:"forceJumbo,omitzero"`
	MaxChunkSizeBytes int64                `json:"maxChunkSizeBytes,omitzero"`
	Reason            Reason               `json:"reason,omitzero"`
}

// MarshalJSON returns the migration as an object for UnmarshalJSON.
func (m Migration) MarshalJSON() ([]byte, error) {
	return json.Marshal(migrationJSON{
		m.Namespace, uuidJSON(m.UUID), m.From, m.To, m.Min, m.Max, m.ChunkVersion, forceJSON(m.Force),
		m.MaxChunkSizeBytes, m.Reason,
	})
}

// UnmarshalJSON parses a migration. A migration without a collection or without two shards is invalid.
func (m *Migration) UnmarshalJSON(data []byte) error {
	var j migrationJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	if j.Namespace == "" || j.From == "" || j.To == "" {
		return fmt.Errorf("a migration needs a namespace and two shards, not %q, %q and %q", j.Namespace, j.From, j.To)
	}
	*m = Migration{
		From: j.From, To: j.To, Namespace: j.Namespace, UUID: bson.Binary(j.UUID), Min: j.Min, Max: j.Max,
		ChunkVersion: j.ChunkVersion, Force: ForceJumbo(j.Force), MaxChunkSizeBytes: j.MaxChunkSizeBytes, Reason: j.Reason,
	}
	return nil
}

// forceJSON is a ForceJumbo in the form of a word.
type forceJSON ForceJumbo

func forceNames() []string {
	return []string{ForceNone: "none", ForceManual: "manual", ForceBalancer: "balancer"}
}

// MarshalText returns none, manual or balancer.
func (f forceJSON) MarshalText() ([]byte, error) {
	if f < 0 || int(f) >= len(forceNames()) {
		return nil, fmt.Errorf("unknown way to force a jumbo chunk: %d", f)
	}
	return []byte(forceNames()[f]), nil
}

// UnmarshalText parses none, manual or balancer.
func (f *forceJSON) UnmarshalText(text []byte) error {
	i := slices.Index(forceNames(), string(text))
	if i < 0 {
		return fmt.Errorf("unknown way to force a jumbo chunk: %q", text)
	}
	*f = forceJSON(i)
	return nil
}

// uuidJSON is a UUID in text form: 32 hexadecimal digits in five groups.
type uuidJSON bson.Binary

// IsZero reports whether there is no UUID.
func (u uuidJSON) IsZero() bool { return len(u.Data) == 0 }

// MarshalText returns the text form.
func (u uuidJSON) MarshalText() ([]byte, error) {
	if u.Subtype != bson.TypeBinaryUUID || len(u.Data) != 16 {
		return nil, fmt.Errorf("not a valid UUID: %x", u.Data)
	}
	return []byte(humanize.UUID(u.Data)), nil
}

// UnmarshalText parses the text form.
func (u *uuidJSON) UnmarshalText(text []byte) error {
	data, err := hex.DecodeString(strings.ReplaceAll(string(text), "-", ""))
	if err != nil || len(data) != 16 {
		return fmt.Errorf("not a valid UUID: %q", text)
	}
	*u = uuidJSON{Subtype: bson.TypeBinaryUUID, Data: data}
	return nil
}
