package filter

import (
	"encoding/json"
	"reflect"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/expr"
)

func parsed(t *testing.T, text string) bson.Raw {
	t.Helper()
	var doc bson.Raw
	if err := bson.UnmarshalExtJSON([]byte(text), false, &doc); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return doc
}

// Operators that only newer releases have are explained, too.
func TestMismatchInANewerLanguage(t *testing.T) {
	validator, doc := parsed(t, `{"$expr": {"$eq": [{"$subtype": "$b"}, 4]}}`),
		parsed(t, `{"b": {"$binary": {"base64": "AA==", "subType": "00"}}}`)
	if got := Mismatch(validator, doc, expr.Language{Operators83: true}); len(got) == 0 {
		t.Error("not explained")
	}
}

// What the manual ("Specify JSON Schema Validation", "Specify Validation With
// Query Operators") and the server's own tests of its explanations show.
func TestMismatch(t *testing.T) {
	tests := []struct {
		name, validator, doc, want string
	}{
		{"type of a property", `{"$jsonSchema": {"bsonType": "object", "title": "Student Object Validation", "required": ` +
			`["name"], "properties": {"gpa": {"bsonType": ["double"], "description": "'gpa' must be a double if the field ` +
			`exists"}}}}`,
			`{"name": "Alice", "gpa": 3}`,
			`{"operatorName": "$jsonSchema", "title": "Student Object Validation",
			  "schemaRulesNotSatisfied": [{"operatorName": "properties", "propertiesNotSatisfied": [
			  {"propertyName": "gpa", "description": "'gpa' must be a double if the field exists", "details": [
			    {"operatorName": "bsonType", "specifiedAs": {"bsonType": ["double"]}, "reason": "type did not match",
			    "consideredValue": 3, "consideredType": "int"}]}]}]}`},
		{"bound of a property, and one that is missing",
			`{"$jsonSchema": {"required": ["b", "a", "year"], "properties": {"year": {"minimum": 2017}}}}`, `{"year": 2016}`,
			`{"operatorName": "$jsonSchema", "schemaRulesNotSatisfied": [
			  {"operatorName": "properties", "propertiesNotSatisfied": [{"propertyName": "year",
			  "details": [{"operatorName": "minimum", "specifiedAs": {"minimum": 2017}, "reason": "comparison failed",
			  "consideredValue": 2016}]}]},
			  {"operatorName": "required", "specifiedAs": {"required": ["b", "a", "year"]}, "missingProperties": ["a", "b"]}]}`},
		{"additional properties", `{"$jsonSchema": {"properties": {"a": {}}, "additionalProperties": false}}`,
			`{"_id": 1, "a": 1}`,
			`{"operatorName": "$jsonSchema", "schemaRulesNotSatisfied": [{"operatorName": "additionalProperties", ` +
				`"specifiedAs": {"additionalProperties": false}, "additionalProperties": ["_id"]}]}`},
		{"enum", `{"$jsonSchema": {"properties": {"a": {"enum": ["x", "y"]}}}}`, `{"a": "z"}`,
			`{"operatorName": "$jsonSchema", "schemaRulesNotSatisfied": [{"operatorName": "properties", ` +
				`"propertiesNotSatisfied": [{"propertyName": "a", "details": [{"operatorName": "enum", "specifiedAs": {"enum": ` +
				`["x", "y"]}, "reason": "value was not found in enum", "consideredValue": "z"}]}]}]}`},
		{"an array's item", `{"$jsonSchema": {"properties": {"a": {"items": {"bsonType": "string"}}}}}`, `{"a": ["x", 1]}`,
			`{"operatorName": "$jsonSchema", "schemaRulesNotSatisfied": [{"operatorName": "properties",
			  "propertiesNotSatisfied": [{"propertyName": "a", "details": [
			  {"operatorName": "items", "reason": "At least one item did not match the sub-schema", "itemIndex": 1,
			  "details": [{"operatorName": "bsonType", "specifiedAs": {"bsonType": "string"}, "reason": "type did not match",
			  "consideredValue": 1, "consideredType": "int"}]}]}]}]}`},
		{"a document in a document", `{"$jsonSchema": {"properties": {"a": {"required": ["b"]}}}}`, `{"a": {"c": 1}}`,
			`{"operatorName": "$jsonSchema", "schemaRulesNotSatisfied": [{"operatorName": "properties", ` +
				`"propertiesNotSatisfied": [{"propertyName": "a", "details": [{"operatorName": "required", "specifiedAs": ` +
				`{"required": ["b"]}, "missingProperties": ["b"]}]}]}]}`},
		{"anyOf", `{"$jsonSchema": {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}}`, `{"c": 1}`,
			`{"operatorName": "$jsonSchema", "schemaRulesNotSatisfied": [{"operatorName": "anyOf", "schemasNotSatisfied": [
			  {"index": 0, "details": [{"operatorName": "required", "specifiedAs": {"required": ["a"]},
			  "missingProperties": ["a"]}]},
			  {"index": 1, "details": [{"operatorName": "required", "specifiedAs": {"required": ["b"]},
			  "missingProperties": ["b"]}]}]}]}`},
		{"oneOf with two", `{"$jsonSchema": {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}}`, `{"a": 1, "b": 1}`,
			`{"operatorName": "$jsonSchema", "schemaRulesNotSatisfied": [{"operatorName": "oneOf", "reason": "more than one ` +
				`subschema matched", "matchingSchemaIndexes": [0, 1]}]}`},
		{"not", `{"$jsonSchema": {"not": {"required": ["a"]}}}`, `{"a": 1}`,
			`{"operatorName": "$jsonSchema", "schemaRulesNotSatisfied": [{"operatorName": "not", "reason": "child expression ` +
				`matched"}]}`},
		{"dependencies", `{"$jsonSchema": {"dependencies": {"a": ["b", "c"]}}}`, `{"a": 1, "b": 1}`,
			`{"operatorName": "$jsonSchema", "schemaRulesNotSatisfied": [{"operatorName": "dependencies", ` +
				`"failingDependencies": [{"conditionalProperty": "a", "missingProperties": ["c"]}]}]}`},
		{"unique items", `{"$jsonSchema": {"properties": {"a": {"uniqueItems": true}}}}`, `{"a": [1, 2, 1]}`,
			`{"operatorName": "$jsonSchema", "schemaRulesNotSatisfied": [{"operatorName": "properties", ` +
				`"propertiesNotSatisfied": [{"propertyName": "a", "details": [{"operatorName": "uniqueItems", "specifiedAs": ` +
				`{"uniqueItems": true}, "reason": "found a duplicate item", "consideredValue": [1, 2, 1], ` +
				`"duplicatedValue": 1}]}]}]}`},

		{"comparison", `{"a": {"$gt": 5}}`, `{"a": 3}`,
			`{"operatorName": "$gt", "specifiedAs": {"a": {"$gt": 5}}, "reason": "comparison failed", "consideredValue": 3}`},
		{"equality", `{"a": 5}`, `{"a": 3}`,
			`{"operatorName": "$eq", "specifiedAs": {"a": 5}, "reason": "comparison failed", "consideredValue": 3}`},
		{"a field that is missing", `{"a": {"$gt": 5}}`, `{}`,
			`{"operatorName": "$gt", "specifiedAs": {"a": {"$gt": 5}}, "reason": "field was missing"}`},
		{"an array", `{"a": {"$gt": 5}}`, `{"a": [1, 2]}`,
			`{"operatorName": "$gt", "specifiedAs": {"a": {"$gt": 5}}, "reason": "comparison failed", "consideredValues": [1, ` +
				`2, [1, 2]]}`},
		{"another type", `{"a": {"$gt": "text"}}`, `{"a": 5}`,
			`{"operatorName": "$gt", "specifiedAs": {"a": {"$gt": "text"}}, "reason": "comparison failed", "consideredValue": 5}`},
		{"type", `{"a": {"$type": "string"}}`, `{"a": 5}`,
			`{"operatorName": "$type", "specifiedAs": {"a": {"$type": "string"}}, "reason": "type did not match", ` +
				`"consideredValue": 5, "consideredType": "int"}`},
		{"two fields", `{"a": {"$gt": 5}, "b": {"$lt": 0}}`, `{"a": 6, "b": 1}`,
			`{"operatorName": "$and", "clausesNotSatisfied": [{"index": 1, "details": {"operatorName": "$lt", "specifiedAs": ` +
				`{"b": {"$lt": 0}}, "reason": "comparison failed", "consideredValue": 1}}]}`},
		{"$or", `{"$or": [{"a": 1}, {"b": {"$exists": true}}]}`, `{"a": 2}`,
			`{"operatorName": "$or", "clausesNotSatisfied": [{"index": 0, "details": {"operatorName": "$eq",
			  "specifiedAs": {"a": 1}, "reason": "comparison failed", "consideredValue": 2}},
			  {"index": 1, "details": {"operatorName": "$exists", "specifiedAs": {"b": {"$exists": true}},
			  "reason": "path does not exist"}}]}`},
		{"$nor", `{"$nor": [{"a": {"$lt": 5}}, {"b": 1}]}`, `{"a": 2}`,
			`{"operatorName": "$nor", "clausesSatisfied": [{"index": 0, "details": {"operatorName": "$lt", "specifiedAs": ` +
				`{"a": {"$lt": 5}}, "reason": "comparison succeeded", "consideredValue": 2}}]}`},
		{"$not", `{"a": {"$not": {"$lt": 5}}}`, `{"a": 2}`,
			`{"operatorName": "$not", "details": {"operatorName": "$lt", "specifiedAs": {"a": {"$lt": 5}}, "reason": ` +
				`"comparison succeeded", "consideredValue": 2}}`},
		{"$ne", `{"a": {"$ne": 2}}`, `{"a": 2}`,
			`{"operatorName": "$ne", "specifiedAs": {"a": {"$ne": 2}}, "reason": "comparison succeeded", "consideredValue": 2}`},
		{"$in", `{"a": {"$in": [1, 2]}}`, `{"a": 3}`,
			`{"operatorName": "$in", "specifiedAs": {"a": {"$in": [1, 2]}}, "reason": "no matching value found in array", ` +
				`"consideredValue": 3}`},
		{"$regex", `{"a": {"$regex": "^x"}}`, `{"a": "y"}`,
			`{"operatorName": "$regex", "specifiedAs": {"a": {"$regex": "^x"}}, "reason": "regular expression did not match", ` +
				`"consideredValue": "y"}`},
		{"$expr", `{"$expr": {"$eq": ["$total", {"$multiply": ["$a", "$b"]}]}}`, `{"total": 5, "a": 2, "b": 2}`,
			`{"operatorName": "$expr", "specifiedAs": {"$expr": {"$eq": ["$total", {"$multiply": ["$a", "$b"]}]}}, "reason": ` +
				`"expression did not match", "expressionResult": false}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			validator, doc := parsed(t, tt.validator), parsed(t, tt.doc)
			f, err := Compile(validator)
			if err != nil || f.Match(doc) {
				t.Fatalf("matches: %v", err)
			}
			got, err := bson.MarshalExtJSON(Mismatch(validator, doc, expr.Language{}), false, false)
			if err != nil {
				t.Fatal(err)
			}
			var have, want any
			if json.Unmarshal(got, &have) != nil || json.Unmarshal([]byte(tt.want), &want) != nil {
				t.Fatal("not JSON")
			}
			if !reflect.DeepEqual(have, want) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
