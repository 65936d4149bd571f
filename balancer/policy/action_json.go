package policy

import (
	"encoding/json"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// actionJSON is the JSON form of an action. Bounds have the JSON form of catalog.Key.
type actionJSON struct {
	Kind      ActionKind      `json:"kind"`
	Namespace string          `json:"ns"`
	UUID      uuidJSON        `json:"uuid,omitzero"`
	Shard     catalog.ShardID `json:"shard"`
	Min       catalog.Key     `json:"min,omitzero"`
	Max       catalog.Key     `json:"max,omitzero"`
	MaxBytes  int64           `json:"maxBytes,omitzero"`
	Throttled bool            `json:"throttled,omitzero"`
}

// MarshalJSON returns the action as an object for UnmarshalJSON.
func (a StreamAction) MarshalJSON() ([]byte, error) {
	return json.Marshal(actionJSON{
		a.Kind, a.Namespace, uuidJSON(a.UUID), a.Shard, a.Min, a.Max, a.MaxBytes, a.Throttled,
	})
}

// UnmarshalJSON parses an action. The action has no policy state, so its result can't be reported to a
// policy.
func (a *StreamAction) UnmarshalJSON(data []byte) error {
	var j actionJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	switch {
	case j.Namespace == "" || j.Shard == "":
		return fmt.Errorf("an action needs a namespace and a shard, not %q and %q", j.Namespace, j.Shard)
	case j.Kind != MergeAll && !j.Min.Less(j.Max):
		return fmt.Errorf("an action from %s to %s", j.Min, j.Max)
	}
	*a = StreamAction{
		Kind: j.Kind, Namespace: j.Namespace, UUID: bson.Binary(j.UUID), Shard: j.Shard, Min: j.Min, Max: j.Max,
		MaxBytes: j.MaxBytes, Throttled: j.Throttled,
	}
	return nil
}

// MarshalText returns the action as the server names it.
func (k ActionKind) MarshalText() ([]byte, error) {
	if k > MergeAll {
		return nil, fmt.Errorf("unknown kind of action: %d", k)
	}
	return []byte(k.String()), nil
}

// UnmarshalText parses the server's name of an action.
func (k *ActionKind) UnmarshalText(text []byte) error {
	for kind := range MergeAll + 1 {
		if kind.String() == string(text) {
			*k = kind
			return nil
		}
	}
	return fmt.Errorf("unknown kind of action: %q", text)
}
