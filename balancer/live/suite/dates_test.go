package suite

import (
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// dates lists the values in a document that are times within a day of now: dates,
// timestamps, and numbers of seconds or milliseconds. The cluster's own time, which
// clients hand on as they got it, is not.
func dates(doc bson.Raw, now time.Time) (found []string) {
	elements, err := doc.Elements()
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range elements {
		v := e.Value()
		if e.Key() == "$clusterTime" {
			continue
		}
		switch v.Type {
		case bson.TypeEmbeddedDocument, bson.TypeArray:
			found = append(found, dates(v.Value, now)...)
		case bson.TypeDateTime:
			found = append(found, near(e.Key(), v.Time(), now)...)
		case bson.TypeTimestamp:
			seconds, _ := v.Timestamp()
			found = append(found, near(e.Key(), time.Unix(int64(seconds), 0), now)...)
		case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble:
			n := v.AsInt64()
			found = append(found, near(e.Key(), time.Unix(n, 0), now)...)
			found = append(found, near(e.Key(), time.UnixMilli(n), now)...)
		}
	}
	return found
}

func near(key string, at, now time.Time) []string {
	if at.Sub(now).Abs() > 24*time.Hour {
		return nil
	}
	return []string{fmt.Sprintf("%s is %s", key, at)}
}
