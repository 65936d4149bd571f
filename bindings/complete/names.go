package complete

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/server"
)

const (
	// completionWait is how long a Tab waits for names from the server. The request continues for
	// completionTimeout, so that the next Tab can use its result.
	completionWait    = 250 * time.Millisecond
	completionTimeout = 10 * time.Second
	// completionTTL is how long names are cached, unless an input is evaluated in between.
	completionTTL = 10 * time.Second
)

// nameLists caches names from the server for completion. The zero value is empty.
type nameLists struct {
	mu       sync.Mutex
	lists    map[nameKey]*nameList
	fetching sync.WaitGroup
	ctx      context.Context // the context of requests; nil before the first one
	cancel   context.CancelFunc
}

type nameKey struct {
	client   *mongo.Client
	listName string
}

type nameList struct {
	names      []string
	freshUntil time.Time
	loading    chan struct{} // nil while no request is running
	outdated   bool          // an input was evaluated since the running request began
}

// get returns names from the server: the new names if the server answers soon, otherwise the cached
// names.
func (l *nameLists) get(client *mongo.Client, what string, fetch func(context.Context,
	*mongo.Client) []string) []string {
	list, loading := l.startFetch(nameKey{client, what}, fetch)
	if loading != nil {
		soon := time.NewTimer(completionWait)
		defer soon.Stop()
		select {
		case <-loading:
		case <-soon.C:
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return list.names
}

// startFetch starts a fetch if the names are outdated.
func (l *nameLists) startFetch(key nameKey, fetch func(context.Context, *mongo.Client) []string) (list *nameList,
	loading <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lists == nil {
		l.lists = make(map[nameKey]*nameList)
	}
	list = l.lists[key]
	if list == nil {
		list = &nameList{}
		l.lists[key] = list
	}
	if list.loading != nil || time.Now().Before(list.freshUntil) {
		return list, list.loading
	}
	done := make(chan struct{})
	list.loading, list.outdated = done, false
	if l.ctx == nil {
		l.ctx, l.cancel = context.WithCancel(context.Background())
	}
	ctx, cancel := context.WithTimeout(l.ctx, completionTimeout)
	l.fetching.Go(func() {
		defer cancel()
		names := fetch(ctx, key.client)
		l.mu.Lock()
		defer l.mu.Unlock()
		if names != nil {
			list.names = names
		}
		list.loading = nil
		if !list.outdated {
			list.freshUntil = time.Now().Add(completionTTL)
		}
		close(done)
	})
	return list, done
}

// invalidate discards the cached names, because an input may have changed anything.
func (l *nameLists) invalidate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range l.lists {
		list.freshUntil, list.outdated = time.Time{}, true
	}
}

// close cancels running requests.
func (l *nameLists) close() {
	l.mu.Lock()
	if l.cancel != nil {
		l.cancel()
	}
	l.mu.Unlock()
	l.fetching.Wait()
}

func fieldTexts(list bson.RawArray, field string) []string {
	values, err := list.Values()
	if err != nil {
		return nil
	}
	names := []string{}
	for _, v := range values {
		doc, _ := v.DocumentOK()
		if name := rawdoc.Text(doc, field); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func (s *Completer) databaseNames(m *server.Conn) []string {
	return s.lists.get(m.Client, "databases", func(ctx context.Context, client *mongo.Client) []string {
		reply := server.RunOrNil(ctx, client, "admin", server.Command("listDatabases", bson.E{Key: "nameOnly", Value: true}))
		list, _ := reply.Lookup("databases").ArrayOK()
		return fieldTexts(list, "name")
	})
}

func (s *Completer) collectionNames(m *server.Conn, database string) []string {
	return s.lists.get(m.Client, "collections of "+database, func(ctx context.Context, client *mongo.Client) []string {
		return fieldTexts(server.FirstBatch(server.RunOrNil(ctx, client, database, server.Command("listCollections",
			bson.E{Key: "nameOnly", Value: true}, bson.E{Key: "authorizedCollections", Value: true},
			bson.E{Key: "cursor", Value: bson.D{{Key: "batchSize", Value: int32(10000)}}}))), "name")
	})
}

// configIDs returns the _ids in a collection of the config database.
func (s *Completer) configIDs(m *server.Conn, collection string) []string {
	return s.lists.get(m.Client, "config."+collection, func(ctx context.Context, client *mongo.Client) []string {
		return fieldTexts(server.FirstBatch(server.RunOrNil(ctx, client, "config", bson.D{
			{Key: "find", Value: collection}, {Key: "filter", Value: shardedFilter()},
			{Key: "projection", Value: bson.D{{Key: "_id", Value: int32(1)}}},
			{Key: "limit", Value: int32(10000)}, {Key: "batchSize", Value: int32(10000)}, {Key: "singleBatch", Value: true},
		})), "_id")
	})
}

// shardedFilter returns a filter that leaves out collections that are tracked but not sharded, and dropped
// ones, whose entries releases up to 4.4 keep.
func shardedFilter() bson.D {
	not := bson.D{{Key: "$ne", Value: true}}
	return bson.D{{Key: "dropped", Value: not}, {Key: "unsplittable", Value: not}}
}

// zoneNames returns the zones of shards, and those with ranges.
func (s *Completer) zoneNames(m *server.Conn) []string {
	return s.lists.get(m.Client, "zones", func(ctx context.Context, client *mongo.Client) (names []string) {
		for _, from := range [][2]string{{"shards", "tags"}, {"tags", "tag"}} {
			names = append(names, rawdoc.Texts(server.RunOrNil(ctx, client, "config",
				bson.D{{Key: "distinct", Value: from[0]}, {Key: "key", Value: from[1]}}), "values")...)
		}
		slices.Sort(names)
		return slices.Compact(names)
	})
}

func (s *Completer) indexNames(d *server.Database, name string) []string {
	database := d.Name
	return s.lists.get(d.Conn.Client, "indexes of "+database+"."+name,
		func(ctx context.Context, client *mongo.Client) []string {
			return fieldTexts(server.FirstBatch(server.RunOrNil(ctx, client, database,
				bson.D{{Key: "listIndexes", Value: name}, {Key: "cursor", Value: bson.D{}}})), "name")
		})
}

// namespaces returns the sharded collections and, if includeUnsharded, also the other collections of the typed
// database.
func (s *Completer) namespaces(m *server.Conn, typed string, includeUnsharded bool) []string {
	sharded := s.configIDs(m, "collections")
	database, _, dotted := strings.Cut(typed, ".")
	if !includeUnsharded {
		return sharded
	}
	all := slices.Clone(sharded)
	if !dotted {
		for _, name := range s.databaseNames(m) {
			all = append(all, name+".")
		}
		return all
	}
	for _, name := range s.collectionNames(m, database) {
		if !strings.HasPrefix(name, "system.") {
			all = append(all, database+"."+name)
		}
	}
	return all
}
