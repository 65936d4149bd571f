package disk

import "go.mongodb.org/mongo-driver/v2/bson"

// State holds the clocks, the counters and the state of the random generator.
type State struct {
	UnixNanos       int64          `bson:"time"` // nanoseconds since 1970
	ClusterTime     bson.Timestamp `bson:"stamp"`
	ObjectIDCount   int64          `bson:"ids"`
	Term            int64          `bson:"term"`
	ObjectIDProcess []byte         `bson:"process"`
	RandState       []byte         `bson:"chance"`
	HadTwoShards    bool           `bson:"hadTwo"`
	Release         string         `bson:"release"`
	// Installed are the server releases, by host:port, of the nodes whose release differs from the
	// cluster's.
	Installed map[string]string `bson:"installed,omitempty"`
}

// Shard is a shard. A removed shard has the address that it had last.
type Shard struct {
	ID      string `bson:"id"`
	Removed bool   `bson:"removed,omitempty"`
	Address string `bson:"address,omitempty"`
}

// ConfigNumber is the number of the config server, in fields that hold the number of a shard.
const ConfigNumber = 0

// Collection is a collection on a shard or, with shard ConfigNumber, on the config server. Its documents
// and virtual data have their own buckets.
type Collection struct {
	Shard     int64       `bson:"shard"`
	Namespace string      `bson:"ns"`
	UUID      bson.Binary `bson:"uuid"`
	Options   bson.Raw    `bson:"options,omitempty"`
	Indexes   []Index     `bson:"indexes"`
}

// Index is an index other than the one on _id, which every collection has.
type Index struct {
	Name    string   `bson:"name"`
	Key     bson.Raw `bson:"key"`
	Unique  bool     `bson:"unique,omitempty"`
	Sparse  bool     `bson:"sparse,omitempty"`
	Options bson.Raw `bson:"options,omitempty"`
}

// Table is a routing table. Its chunks are in their own bucket, as documents of config.chunks.
type Table struct {
	Number    int64          `bson:"number"`
	Key       bson.Raw       `bson:"key"`
	Epoch     bson.ObjectID  `bson:"epoch"`
	Timestamp bson.Timestamp `bson:"timestamp"`
}

// Deletion is a range deletion task. Files of older programs lack Donor and MigrationStart.
type Deletion struct {
	Shard          int64          `bson:"shard"`
	Namespace      string         `bson:"ns"`
	UUID           bson.Binary    `bson:"uuid"`
	Min            bson.Raw       `bson:"min"`
	Max            bson.Raw       `bson:"max"`
	Immediate      bool           `bson:"now"`
	Donor          string         `bson:"donor,omitempty"`
	MigrationStart bson.Timestamp `bson:"at,omitempty"`
}

// VirtualRange is a range of virtual data. Its bounds are values of the routing table's shard key.
type VirtualRange struct {
	Min   bson.Raw `bson:"min"`
	Max   bson.Raw `bson:"max"`
	Docs  int64    `bson:"docs"`
	Bytes int64    `bson:"bytes"`
}

// View is a view: the namespace that it reads and its pipeline.
type View struct {
	ViewOn   string     `bson:"on"`
	Pipeline []bson.Raw `bson:"pipeline"`
}

// ReadOptions reads a collection's options with the Go types that create uses: documents stay bson.Raw.
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
