package tracing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"shardsh/balancer/humanize"
)

// sink receives spans that have ended.
type sink interface {
	put(s span)
	// close returns when all spans are written, or returns an error.
	close() error
}

// encoder encodes spans as requests.
type encoder struct{ resource resource }

func (e encoder) request(spans []span) ([]byte, error) {
	return json.Marshal(request{[]resourceSpans{{e.resource, []scopeSpans{{scope{Name: "shardsh"}, spans}}}}})
}

// fileSink writes a line for each span when the span ends, so that a run that is killed leaves its
// completed steps.
type fileSink struct {
	encoder
	to  io.WriteCloser
	err error
}

func openFile(path string, e encoder) (*fileSink, error) {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &fileSink{encoder: e, to: to}, nil
}

func (f *fileSink) put(s span) {
	line, err := f.request([]span{s})
	if err == nil {
		_, err = f.to.Write(append(line, '\n'))
	}
	f.err = errors.Join(f.err, err)
}

func (f *fileSink) close() error { return errors.Join(f.err, f.to.Close()) }

const (
	// sendBatch is the number of spans in a request. An incomplete batch is sent after sendDelay.
	sendBatch = 100
	sendDelay = 2 * time.Second
	// sendQueue is the maximum number of spans that wait for a slow collector; further spans are
	// dropped.
	sendQueue = 10_000
	// sendTimeout is the time limit of a request, and of the remaining requests at the end of a run.
	sendTimeout = 5 * time.Second
	// maxReply is how much of a collector's reply is read.
	maxReply = 1 << 16
)

// collectorSink sends spans over HTTP in the background: it neither ends nor delays the run.
type collectorSink struct {
	encoder
	url     string
	headers map[string]string
	client  *http.Client
	queue   chan span
	done    chan struct{}

	dropped, lost int
	err           error
}

// openCollector starts to send spans to an address, with the path /v1/traces if the address has none.
// headers are "name=value,name=value", the format of OTEL_EXPORTER_OTLP_HEADERS.
func openCollector(address, headers string, e encoder) (*collectorSink, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, errors.New("not the address of a collector, such as http://host:4318")
	}
	if u.User != nil {
		return nil, errors.New("a password does not belong in the address: use OTEL_EXPORTER_OTLP_HEADERS in the environment")
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1/traces"
	}
	c := &collectorSink{encoder: e, url: u.String(), headers: map[string]string{},
		client: &http.Client{Timeout: sendTimeout},
		queue:  make(chan span, sendQueue), done: make(chan struct{})}
	for pair := range strings.SplitSeq(headers, ",") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			if plain, err := url.PathUnescape(strings.TrimSpace(value)); err == nil {
				c.headers[strings.TrimSpace(name)] = plain
			}
		}
	}
	go c.run() // ends with close
	return c, nil
}

func (c *collectorSink) put(s span) {
	select {
	case c.queue <- s:
	default:
		c.dropped++
	}
}

// run sends waiting spans until close is called.
func (c *collectorSink) run() {
	defer close(c.done)
	for first := range c.queue {
		batch := []span{first}
		deadline := time.NewTimer(sendDelay)
	fill:
		for len(batch) < sendBatch {
			select {
			case s, more := <-c.queue:
				if !more {
					break fill
				}
				batch = append(batch, s)
			case <-deadline.C:
				break fill
			}
		}
		deadline.Stop()
		if err := c.send(batch); err != nil {
			c.lost, c.err = c.lost+len(batch), err
		}
	}
}

func (c *collectorSink) send(batch []span) error {
	body, err := c.request(batch)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range c.headers {
		r.Header.Set(name, value)
	}
	reply, err := c.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = reply.Body.Close() }() // the reply was only read
	_, _ = io.Copy(io.Discard, io.LimitReader(reply.Body, maxReply))
	if reply.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers %s", reply.Status)
	}
	return nil
}

func (c *collectorSink) close() error {
	close(c.queue)
	late := time.NewTimer(sendTimeout)
	defer late.Stop()
	select {
	case <-c.done:
	case <-late.C:
		return errors.New("the collector did not accept the last spans in time")
	}
	if n := c.lost + c.dropped; n > 0 {
		if c.err == nil {
			c.err = errors.New("the collector is too slow")
		}
		return fmt.Errorf("%s lost: %w", humanize.Count(n, "span"), c.err)
	}
	return nil
}
