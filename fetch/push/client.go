package push

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Client pushes to one bot.
type Client struct {
	// Base is the bot's address, without Path.
	Base    string
	Cluster string
	Token   Token
	// HTTP follows no redirect.
	HTTP *http.Client
	Now  func() time.Time
	// Sleep waits between attempts.
	Sleep func(ctx context.Context, d time.Duration) error
	// Piece is how much is sent at a time; 0 = 8 MB.
	Piece int
	// Progress is told how many bytes are there; may be nil.
	Progress func(done, of int64)
}

// Local is a file that is to be sent: File without size and sum, and where it is.
type Local struct {
	File
	At string
}

const (
	piece = 8 << 20
	// attempts at a call that fails for a reason that may pass, and at a file that changes while it is sent.
	attempts = 4
	rounds   = 3
)

// Refused is what the bot said to a call that it did not do.
type Refused struct {
	Status int
	Text   string
}

func (e *Refused) Error() string { return e.Text }

// Send sends what an offer says, with these files, as far as it is not there yet, and makes it count. A log that is written to
// meanwhile is sent as far as it was there at the beginning. What cannot be read any more is left out, and named in the second result.
func (c *Client) Send(ctx context.Context, o Offer, files []Local) (Answer, []string, error) {
	for round := 1; ; round++ {
		var left []string
		o.Files = nil
		at := map[string]Local{}
		for _, f := range files {
			full, err := measure(ctx, f)
			if ctx.Err() != nil {
				return Answer{}, left, context.Cause(ctx)
			}
			if err != nil {
				left = append(left, fmt.Sprintf("can't read %s: %v", f.Path, plain(err)))
				continue
			}
			o.Files, at[full.SHA256] = append(o.Files, full), Local{full, f.At}
		}
		if len(o.Files) == 0 {
			return Answer{}, left, errors.New("there are no files to send")
		}
		a, err := c.round(ctx, o, at)
		var no *Refused
		if errors.As(err, &no) && (no.Status == http.StatusConflict || no.Status == http.StatusUnprocessableEntity) && round < rounds {
			continue // a file changed, or the bot was started again
		}
		return a, left, err
	}
}

// measure is the size and the sum of a file as it is now.
func measure(ctx context.Context, f Local) (File, error) {
	file, err := os.Open(f.At)
	if err != nil {
		return f.File, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return f.File, err
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(&reader{ctx, file}, info.Size()))
	if err != nil {
		return f.File, err
	}
	out := f.File
	out.Size, out.SHA256 = n, hex.EncodeToString(h.Sum(nil))
	if out.Written.IsZero() {
		out.Written = info.ModTime().UTC()
	}
	return out, nil
}

// plain is an error without the path, which is said already.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

func (c *Client) round(ctx context.Context, o Offer, at map[string]Local) (Answer, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return Answer{}, err
	}
	a, err := c.call(ctx, http.MethodPost, o.Job+"/offer", text)
	if err != nil {
		return a, err
	}
	var done, of int64
	for sum, f := range at {
		done, of = done+a.Here[sum], of+f.Size
	}
	tell := func(n int64) {
		done += n
		if c.Progress != nil {
			c.Progress(done, of)
		}
	}
	tell(0)
	for _, f := range o.Files {
		l, ok := at[f.SHA256]
		if !ok {
			continue // two files of one content
		}
		delete(at, f.SHA256)
		if err := c.content(ctx, o.Job, l, a.Here[f.SHA256], tell); err != nil {
			return a, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return c.call(ctx, http.MethodPost, o.Job+"/done", text)
}

// content sends what is not there yet of one content.
func (c *Client) content(ctx context.Context, job string, l Local, here int64, tell func(int64)) error {
	if here == l.Size && l.Size > 0 {
		return nil
	}
	file, err := os.Open(l.At)
	if err != nil {
		return err
	}
	defer file.Close()
	most := c.Piece
	if most <= 0 {
		most = piece
	}
	buffer := make([]byte, min(int64(most), max(l.Size, 1)))
	for {
		n, err := file.ReadAt(buffer[:min(int64(len(buffer)), l.Size-here)], here)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 && here < l.Size {
			return &Refused{http.StatusUnprocessableEntity, "the file shrank while being sent"}
		}
		a, err := c.call(ctx, http.MethodPut, fmt.Sprintf("%s/%s?at=%d", job, l.SHA256, here), buffer[:n])
		if err != nil {
			return err
		}
		now, ok := a.Here[l.SHA256]
		if !ok || now == here && n > 0 || now < 0 || now > l.Size {
			return errors.New("the response contains no upload position: is this the bot's URL?")
		}
		tell(now - here)
		if here = now; here == l.Size {
			return nil
		}
	}
}

// call makes a call, again where the reason may pass.
func (c *Client) call(ctx context.Context, method, rest string, body []byte) (Answer, error) {
	var a Answer
	var err error
	for n := range attempts {
		if n > 0 {
			if err := c.Sleep(ctx, time.Second<<(n-1)); err != nil {
				return a, err
			}
		}
		a, err = c.once(ctx, method, rest, body)
		var no *Refused
		if err == nil || ctx.Err() != nil || errors.As(err, &no) && no.Status < 500 && no.Status != http.StatusTooManyRequests || no != nil && no.Status == http.StatusInsufficientStorage {
			break
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return a, err
}

// most is how much of an answer is read.
const most = 8 << 20

func (c *Client) once(ctx context.Context, method, rest string, body []byte) (Answer, error) {
	var a Answer
	address := strings.TrimSuffix(c.Base, "/") + Path + url.PathEscape(c.Cluster) + "/" + rest
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	sum := sha256.Sum256(body)
	stamp, digest := strconv.FormatInt(c.Now().Unix(), 10), hex.EncodeToString(sum[:])
	r.Header.Set(headerTime, stamp)
	if c.Token.User != "" {
		r.Header.Set(headerUser, c.Token.User)
	}
	r.Header.Set(headerDigest, digest)
	r.Header.Set(headerSignature, sign([]byte(c.Token.Key.Reveal()), stamp, c.Token.User, method, r.URL.RequestURI(), digest))
	resp, err := c.HTTP.Do(r)
	if err != nil {
		return a, fmt.Errorf("can't reach the bot at %s: %w", c.Base, reason(err))
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return a, fmt.Errorf("the bot at %s cut off its response: %w", c.Base, reason(err))
	}
	if resp.StatusCode != http.StatusOK {
		no := refusal{}
		if json.Unmarshal(text, &no) != nil || no.Error == "" {
			no.Error = fmt.Sprintf("%s answers %s, which isn't the bot: check the URL, and any proxy in front of the bot", c.Base, resp.Status)
		}
		return a, &Refused{resp.StatusCode, line(no.Error, maxNote)}
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return a, fmt.Errorf("%s doesn't respond like the bot: check the URL", c.Base)
	}
	return a, nil
}

// reason is an error without the address, which is said already.
func reason(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
