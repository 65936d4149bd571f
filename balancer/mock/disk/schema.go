package disk

import "go.mongodb.org/mongo-driver/v2/bson"

// State are the clocks, counters and the source of chance.
type State struct {
	Time    int64          `bson:"time"` // nanoseconds since 1970
	Stamp   bson.Timestamp `bson:"stamp"`
	IDs     int64          `bson:"ids"`
	Term    int64          `bson:"term"`
	Process []byte         `bson:"process"`
	Chance  []byte         `bson:"chance"`
	HadTwo  bool           `bson:"hadTwo"`
	Release string         `bson:"release"`
	// Installed are the versions of servers that have one of their own, by host:port.
	Installed map[string]string `bson:"installed,omitempty"`
}

// Shard is a shard; a former one has the address it left.
type Shard struct {
	ID      string `bson:"id"`
	Removed bool   `bson:"removed,omitempty"`
	Address string `bson:"address,omitempty"`
}

// ConfigNumber stands for the config server where shards have their number.
const ConfigNumber = 0

// Collection is a collection on a shard, or on the config server: shard
// ConfigNumber. Its documents and virtual data are in buckets of their own.
type Collection struct {
	Shard     int64       `bson:"shard"`
	Namespace string      `bson:"ns"`
	UUID      bson.Binary `bson:"uuid"`
	Options   bson.Raw    `bson:"options,omitempty"`
	Indexes   []Index     `bson:"indexes"`
}

// Index is an index besides the one on _id, which every collection has.
type Index struct {
	Name    string   `bson:"name"`
	Key     bson.Raw `bson:"key"`
	Unique  bool     `bson:"unique,omitempty"`
	Sparse  bool     `bson:"sparse,omitempty"`
	Options bson.Raw `bson:"options,omitempty"`
}

// Table is a routing table; its chunks are in a bucket of their own, as
// documents of config.chunks.
type Table struct {
	Number    int64          `bson:"number"`
	Key       bson.Raw       `bson:"key"`
	Epoch     bson.ObjectID  `bson:"epoch"`
	Timestamp bson.Timestamp `bson:"timestamp"`
}

// Deletion is a range deletion task. Donor and At came later: older files lack
// them.
type Deletion struct {
	Shard     int64          `bson:"shard"`
	Namespace string         `bson:"ns"`
	UUID      bson.Binary    `bson:"uuid"`
	Min       bson.Raw       `bson:"min"`
	Max       bson.Raw       `bson:"max"`
	Now       bool           `bson:"now"`
	Donor     string         `bson:"donor,omitempty"`
	At        bson.Timestamp `bson:"at,omitempty"`
}

// VirtualRange is virtual data. Its bounds are of the key of the routing table.
type VirtualRange struct {
	Min   bson.Raw `bson:"min"`
	Max   bson.Raw `bson:"max"`
	Docs  int64    `bson:"docs"`
	Bytes int64    `bson:"bytes"`
}

// View is a view: what it is on, and its pipeline.
type View struct {
	ViewOn   string     `bson:"on"`
	Pipeline []bson.Raw `bson:"pipeline"`
}

// ReadOptions reads a collection's options with the Go types they are made
// with: documents stay as they are.
func ReadOptions(raw bson.Raw) (bson.D, error) {
	elems, err := raw.Elements()
	if err != nil {
		return nil, err
	}
	var options bson.D
	for _, e := range elems {
		var value any
		if doc, isDoc := e.Value().DocumentOK(); isDoc {
			value = doc
		} else if err := e.Value().Unmarshal(&value); err != nil {
			return nil, err
		}
		options = append(options, bson.E{Key: e.Key(), Value: value})
	}
	return options, nil
}
