package slack_test

import (
	"bytes"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"faultline/simulate/slack"
)

func get(t *testing.T, target, token string) (response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(soon(t), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header}, body
}

func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 3))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// announce asks for an upload URL.
func announce(t *testing.T, s *slack.Server, name string, length int) (id, link string) {
	t.Helper()
	a := must(t, s, "files.getUploadURLExternal", map[string]any{"filename": name, "length": length, "alt_txt": "rank 3 is behind"})
	return a.str("file_id"), a.str("upload_url")
}

// multi wraps content the way clients do.
func multi(t *testing.T, field string, content []byte) (kind string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile(field, "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.Bytes()
}

func TestFilesAreUploadedInThreeSteps(t *testing.T) {
	s, _ := serve(t, nil)
	pic := picture(t)
	head := must(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "head"}).str("ts")
	one, link := announce(t, s, "rank map.png", len(pic))
	if !strings.HasPrefix(link, s.URL()+"/") {
		t.Errorf("the upload goes to another host: %s", link)
	}
	kind, body := multi(t, "file", pic)
	if resp, text := post(t, link, kind, slack.BotToken, body); resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
	two, link := announce(t, s, "report.md", 5)
	if resp, text := post(t, link, "application/octet-stream", "", []byte("# 1%+")); resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
	a := must(t, s, "files.completeUploadExternal", map[string]any{"channel_id": slack.Training, "thread_ts": head,
		"initial_comment": "the report", "files": []any{map[string]any{"id": one, "title": "Rank map"}, map[string]any{"id": two}}})
	if files, _ := a["files"].([]any); len(files) != 2 {
		t.Errorf("%v", a)
	}
	list := s.Messages(slack.Training, slack.Bob, head)
	if len(list) != 2 || list[1].Text != "the report" || len(list[1].Files) != 2 || list[1].Files[0].AltTxt != "rank 3 is behind" {
		t.Fatalf("%+v", list)
	}
	info := must(t, s, "files.info", map[string]any{"file": one})
	share := info.at("file.shares.public." + slack.Training).([]any)[0].(map[string]any)
	if share["ts"] != list[1].TS || share["thread_ts"] != head || info.at("file.original_w") != 4.0 || info.str("file.title") != "Rank map" {
		t.Errorf("%v", info)
	}
	if _, body := get(t, info.str("file.url_private"), slack.BotToken); !bytes.Equal(body, pic) {
		t.Errorf("%d bytes came back of %d", len(body), len(pic))
	}
	if resp, _ := get(t, info.str("file.url_private"), ""); resp.StatusCode != http.StatusFound {
		t.Errorf("without a token: %d", resp.StatusCode)
	}
	// A picture can be shown by id once it is there; a report cannot.
	show := func(id string) answer {
		return call(t, s, "chat.postMessage", map[string]any{"channel": slack.Training, "text": "x", "blocks": []any{
			map[string]any{"type": "image", "alt_text": "map", "slack_file": map[string]any{"id": id}}}})
	}
	if a := show(one); a["ok"] != true {
		t.Errorf("%v", a)
	}
	if a := show(two); a.str("error") != "invalid_blocks" {
		t.Errorf("%v", a)
	}
	must(t, s, "files.delete", map[string]any{"file": one})
	if a := call(t, s, "files.info", map[string]any{"file": one}); a.str("error") != "file_deleted" {
		t.Errorf("%v", a)
	}
	if m := s.Messages(slack.Training, slack.Bob, head)[1]; len(m.Files) != 1 {
		t.Errorf("the deleted file is still shown: %+v", m.Files)
	}
}

func TestUploadsThatGoWrong(t *testing.T) {
	s, _ := serve(t, nil)
	id, link := announce(t, s, "a.txt", 3)
	if resp, text := post(t, link, "text/plain", "", []byte("four")); resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "size mismatch") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	done := func(id string) string {
		return call(t, s, "files.completeUploadExternal", map[string]any{"files": []any{map[string]any{"id": id}}, "channel_id": slack.Training}).str("error")
	}
	if e := done(id); e != "file_not_found" {
		t.Errorf("completed without content: %s", e)
	}
	post(t, link, "text/plain", "", []byte("abc"))
	if e := done(id); e != "" {
		t.Errorf("%s", e)
	}
	if e := done(id); e != "file_not_found" {
		t.Errorf("completed twice: %s", e)
	}
	if resp, _ := post(t, link, "text/plain", "", []byte("abc")); resp.StatusCode != http.StatusNotFound {
		t.Errorf("uploaded twice: %d", resp.StatusCode)
	}
	if a := call(t, s, "files.getUploadURLExternal", map[string]any{"filename": "x", "length": 0}); a["ok"] != false {
		t.Errorf("an empty file: %v", a)
	}
}
