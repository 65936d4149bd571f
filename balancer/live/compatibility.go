package live

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// compatibilityTimeout limits the read of the feature compatibility version.
const compatibilityTimeout = 5 * time.Second

// readCompatibility reads the feature compatibility version from the config servers, since a mongos
// reads the database admin there. It returns the zero value without the privilege, and before 3.4.
func readCompatibility(ctx context.Context, a CommandRunner) (catalog.Compatibility, error) {
	docs, err := a.RunCursorCommand(ctx, "admin", bson.D{
		{Key: "find", Value: "system.version"},
		{Key: "filter", Value: bson.D{{Key: "_id", Value: "featureCompatibilityVersion"}}},
		{Key: "maxTimeMS", Value: compatibilityTimeout.Milliseconds()},
	})
	err = ServerError(err)
	if errors.As(err, new(*mongoerr.ServerError)) && ctx.Err() == nil {
		err = nil
	}
	if err != nil || len(docs) == 0 {
		return catalog.Compatibility{}, err
	}
	return catalog.Compatibility{Version: text(docs[0], "version"), Target: text(docs[0], "targetVersion")}, nil
}

// readCompatibility reads the feature compatibility version and applies it to the release.
func (r *reading) readCompatibility(ctx context.Context) error {
	docs, err := r.source.list(ctx, query{database: "admin", collection: "system.version",
		filter: bson.D{{Key: "_id", Value: "featureCompatibilityVersion"}}, maxTime: compatibilityTimeout})
	if errors.As(ServerError(err), new(*mongoerr.ServerError)) && ctx.Err() == nil {
		return nil // the router's release is used
	}
	for _, doc := range docs {
		r.parts.Compatibility = catalog.Compatibility{Version: text(doc, "version"), Target: text(doc, "targetVersion")}
		r.parts.Release = r.parts.Compatibility.Release(r.parts.Release)
	}
	r.dropForeignSnapshot()
	return err
}
