package catalog

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// Keys and chunks have a lossless form in JSON, for plans, reports and their readers. Values of keys
// are canonical extended JSON.

// MarshalJSON returns the values of the key as an array, in the order of its
// pattern; null for the zero Key.
func (k Key) MarshalJSON() ([]byte, error) {
	if k.IsZero() {
		return []byte("null"), nil
	}
	list := []json.RawMessage{}
	for _, v := range k.Values() {
		text, err := marshalValue(v)
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return json.Marshal(list)
}

// UnmarshalJSON parses the output of MarshalJSON. A value that can't be part of a key is
// ErrNotShardKey.
func (k *Key) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	if list == nil {
		*k = Key{}
		return nil
	}
	if len(list) == 0 {
		return fmt.Errorf("%w: it has no values", ErrNotShardKey)
	}
	var values []bson.RawValue
	for _, text := range list {
		v, err := unmarshalValue(text)
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	*k = newKey(values)
	return nil
}

// rawField has the bytes of a value that extended JSON can't tell: the type and
// what follows it in a document.
const rawField = "$bson"

// marshalValue returns a value as extended JSON from which the same bytes can be restored.
func marshalValue(v bson.RawValue) (json.RawMessage, error) {
	whole, err := bson.MarshalExtJSON(bson.D{{Key: "v", Value: v}}, true, false)
	if err == nil {
		text := json.RawMessage(bytes.TrimSuffix(bytes.TrimPrefix(whole, []byte(`{"v":`)), []byte("}")))
		if again, err := unmarshalValue(text); err == nil && again.Type == v.Type && bytes.Equal(again.Value, v.Value) {
			return text, nil
		}
	}
	// For example, a string that is not valid UTF-8.
	raw := base64.StdEncoding.EncodeToString(append([]byte{byte(v.Type)}, v.Value...))
	return json.Marshal(map[string]string{rawField: raw})
}

func unmarshalValue(text json.RawMessage) (bson.RawValue, error) {
	v, err := unmarshalExtended(text)
	switch {
	case err != nil:
		return bson.RawValue{}, err
	case v.Type == bson.TypeArray:
		return bson.RawValue{}, fmt.Errorf("%w: %s is an array", ErrNotShardKey, text)
	case keyorder.ValueSize(v.Type, v.Value) != len(v.Value):
		return bson.RawValue{}, fmt.Errorf("%w: %s is damaged", ErrNotShardKey, text)
	}
	return v, nil
}

func unmarshalExtended(text json.RawMessage) (bson.RawValue, error) {
	if bytes.Contains(text, []byte(rawField)) {
		var fields map[string]json.RawMessage
		var raw []byte
		if json.Unmarshal(text, &fields) == nil && len(fields) == 1 && json.Unmarshal(fields[rawField], &raw) == nil {
			if len(raw) == 0 {
				return bson.RawValue{}, fmt.Errorf("%w: a value without a type", ErrNotShardKey)
			}
			return bson.RawValue{Type: bson.Type(raw[0]), Value: raw[1:]}, nil
		}
	}
	var whole struct{ V bson.RawValue }
	doc := append(append([]byte(`{"v":`), text...), '}')
	if err := bson.UnmarshalExtJSON(doc, true, &whole); err != nil {
		return bson.RawValue{}, fmt.Errorf("%w: %w", ErrNotShardKey, err)
	}
	return bson.RawValue{Type: whole.V.Type, Value: whole.V.Value}, nil
}

// MarshalText returns the version as "M|m".
func (v ChunkVersion) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText parses "M|m".
func (v *ChunkVersion) UnmarshalText(text []byte) error {
	var next ChunkVersion
	if n, err := fmt.Sscanf(string(text), "%d|%d", &next.Major, &next.Minor); n != 2 || next.String() != string(text) {
		return errors.Join(fmt.Errorf("%q is not a valid version of a chunk, such as 3|1", text), err)
	}
	*v = next
	return nil
}
