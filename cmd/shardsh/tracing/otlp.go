package tracing

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// The messages of OTLP/JSON, with the fields that a run uses: an ExportTraceServiceRequest
// (opentelemetry-proto, trace.proto). Ids are hexadecimal; times and 64-bit integers are strings.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitzero"`
	}
	span struct {
		TraceID      string      `json:"traceId"`
		SpanID       string      `json:"spanId"`
		ParentSpanID string      `json:"parentSpanId,omitzero"`
		Name         string      `json:"name"`
		Kind         int         `json:"kind"`
		Start        nanos       `json:"startTimeUnixNano"`
		End          nanos       `json:"endTimeUnixNano"`
		Attributes   []attribute `json:"attributes,omitzero"`
		Events       []spanEvent `json:"events,omitzero"`
		Status       status      `json:"status"`
	}
	spanEvent struct {
		Time       nanos       `json:"timeUnixNano"`
		Name       string      `json:"name"`
		Attributes []attribute `json:"attributes,omitzero"`
	}
	status struct {
		Code    int    `json:"code,omitzero"`
		Message string `json:"message,omitzero"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	}
)

// The span kinds and status codes that are used.
const (
	kindInternal = 1
	kindClient   = 3
	statusOK     = 1
	statusError  = 2
)

// nanos is a time in the format of OTLP.
type nanos time.Time

// MarshalJSON returns the nanoseconds since 1970 as a string.
func (n nanos) MarshalJSON() ([]byte, error) {
	return json.Marshal(strconv.FormatInt(time.Time(n).UnixNano(), 10))
}

// attr returns an attribute with a string, an integer or a boolean.
func attr(key string, value any) attribute {
	switch v := value.(type) {
	case string:
		return attribute{key, map[string]string{"stringValue": v}}
	case bool:
		return attribute{key, map[string]bool{"boolValue": v}}
	case int:
		return attr(key, int64(v))
	case int64:
		return attribute{key, map[string]string{"intValue": strconv.FormatInt(v, 10)}}
	}
	return attr(key, fmt.Sprint(value))
}

// newID returns a random id with a number of bytes.
func newID(bytes int) string {
	id := make([]byte, bytes)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

var traceParent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}`)

// parseTraceParent parses the header traceparent of W3C Trace Context; ok is false for an invalid one.
func parseTraceParent(text string) (trace, parent string, ok bool) {
	m := traceParent.FindStringSubmatch(text)
	if m == nil || text[:2] == "ff" || m[1] == "00000000000000000000000000000000" || m[2] == "0000000000000000" {
		return "", "", false
	}
	return m[1], m[2], true
}
