package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
)

// pauseID is the _id of the pause of all runs, beside the leases.
const pauseID = "pause"

// AlreadyPausedError says that runs are already paused.
type AlreadyPausedError struct{ Pause catalog.RunsPause }

func (e *AlreadyPausedError) Error() string {
	return "runs of shardsh are paused already: " + e.Pause.String()
}

// SetRunsPause pauses all runs of shardsh on a cluster for a time, by cluster time. While another pause is
// active and replace is false, the error is an *AlreadyPausedError.
func SetRunsPause(ctx context.Context, client *mongo.Client, reason string, duration time.Duration, replace bool,
) (catalog.RunsPause, error) {
	by := newRunsPause(ctx, client)
	token := bson.NewObjectID()
	ours := bson.D{
		{Key: "_id", Value: "$_id"}, {Key: "token", Value: token},
		{Key: "reason", Value: literal(reason)}, {Key: "user", Value: literal(by.User)},
		{Key: "host", Value: literal(by.Host)}, {Key: "login", Value: literal(by.Login)},
		{Key: "since", Value: clusterTime},
		{Key: "expires", Value: bson.D{{Key: "$add", Value: bson.A{clusterTime, duration.Milliseconds()}}}},
	}
	free := bson.D{{Key: "$or", Value: bson.A{
		replace, bson.D{{Key: "$lte", Value: bson.A{ifNull("$expires", time.Time{}), clusterTime}}},
		bson.D{{Key: "$eq", Value: bson.A{"$token", token}}},
	}}}
	doc, err := LeaseCollectionOf(client).FindOneAndUpdate(ctx, bson.D{{Key: "_id", Value: pauseID}},
		mongo.Pipeline{{{Key: "$replaceWith", Value: bson.D{{Key: "$cond", Value: bson.A{free, ours, "$$ROOT"}}}}}},
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Raw()
	if err != nil {
		return catalog.RunsPause{}, pauseError("writing", err)
	}
	is := *parsePause(doc)
	is.Active = true
	if id, _ := doc.Lookup("token").ObjectIDOK(); id != token {
		return is, &AlreadyPausedError{is}
	}
	return is, nil
}

// EndRunsPause removes the pause and returns it; nil if there was none.
func EndRunsPause(ctx context.Context, client *mongo.Client) (*catalog.RunsPause, error) {
	return parseActivePause("writing", LeaseCollectionOf(client).FindOneAndDelete(ctx, activeFilter(pauseID)))
}

// ReadRunsPause returns the pause; nil if there is none, or if it has ended.
func ReadRunsPause(ctx context.Context, client *mongo.Client) (*catalog.RunsPause, error) {
	return parseActivePause("reading", LeaseCollectionOf(client).FindOne(ctx, activeFilter(pauseID)))
}

func parseActivePause(doing string, found *mongo.SingleResult) (*catalog.RunsPause, error) {
	doc, err := found.Raw()
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return nil, nil
	case err != nil:
		return nil, pauseError(doing, err)
	}
	is := parsePause(doc)
	is.Active = true
	return is, nil
}

func pauseError(doing string, err error) error {
	return fmt.Errorf("%s %s.%s: %w", doing, LeaseDatabase, LeaseCollection, ServerError(err))
}

// parsePause parses a stored pause. The field running, if the query has computed it, says whether the
// pause is active.
func parsePause(doc bson.Raw) *catalog.RunsPause {
	return &catalog.RunsPause{
		Reason: text(doc, "reason"), User: text(doc, "user"), Host: text(doc, "host"), Login: text(doc, "login"),
		Since: date(doc, "since"), Until: date(doc, "expires"), Active: catalog.IsTruthyInJS(doc.Lookup("running")),
	}
}

// newRunsPause returns a RunsPause with only the user of the operating system, the host and the user of the
// cluster.
func newRunsPause(ctx context.Context, client *mongo.Client) catalog.RunsPause {
	who := catalog.RunsPause{User: "somebody", Host: NewHolder("").Host}
	if u, err := user.Current(); err == nil && u.Username != "" {
		who.User = u.Username
	} else if name := os.Getenv("USER"); name != "" {
		who.User = name
	}
	status, err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "connectionStatus", Value: 1}}).Raw()
	if err != nil {
		return who
	}
	users, _ := status.Lookup("authInfo", "authenticatedUsers").ArrayOK()
	if values, _ := users.Values(); len(values) > 0 {
		if u, ok := values[0].DocumentOK(); ok {
			who.Login = text(u, "db") + "." + text(u, "user")
		}
	}
	return who
}
