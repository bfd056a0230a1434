package slack

import (
	"bytes"
	"image"
	_ "image/gif"  // to know the size of what is uploaded
	_ "image/jpeg" // the same
	_ "image/png"  // the same
	"net/url"
	"path"
	"strings"
)

// File is an uploaded file. Fields with JSON names are what files.info shows.
type File struct {
	ID         string `json:"id"`
	Created    int64  `json:"created"`
	Timestamp  int64  `json:"timestamp"`
	Name       string `json:"name"`
	Title      string `json:"title"`
	Mimetype   string `json:"mimetype"`
	Filetype   string `json:"filetype"`
	PrettyType string `json:"pretty_type"`
	User       string `json:"user"`
	UserTeam   string `json:"user_team"`
	AltTxt     string `json:"alt_txt,omitempty"`
	Mode       string `json:"mode"`
	Editable   bool   `json:"editable"`
	IsExternal bool   `json:"is_external"`
	IsPublic   bool   `json:"is_public"`
	Size       int    `json:"size"`
	OriginalW  int    `json:"original_w,omitempty"`
	OriginalH  int    `json:"original_h,omitempty"`
	URLPrivate string `json:"url_private"`
	Download   string `json:"url_private_download"`
	Permalink  string `json:"permalink"`
	FileAccess string `json:"file_access"`

	Channels []string `json:"channels"`
	Groups   []string `json:"groups"`
	IMs      []string `json:"ims"`
	Shares   struct {
		Public  map[string][]Share `json:"public,omitempty"`
		Private map[string][]Share `json:"private,omitempty"`
	} `json:"shares"`

	content  []byte
	promised int // the length that was announced
	uploaded bool
	complete bool
	deleted  bool
}

// Share says in which message a file is shown.
type Share struct {
	TS          string `json:"ts"`
	ThreadTS    string `json:"thread_ts,omitempty"`
	ChannelName string `json:"channel_name"`
	TeamID      string `json:"team_id"`
}

// Content is what was uploaded.
func (f *File) Content() []byte { return bytes.Clone(f.content) }

func (f *File) isImage() bool {
	return strings.HasPrefix(f.Mimetype, "image/") && f.Mimetype != "image/svg+xml"
}

// newFile registers a file; its content comes later.
func (s *Server) newFile(name, user string) *File {
	now := s.clock.Now().Unix()
	f := &File{ID: s.id("F"), Created: now, Timestamp: now, Name: name, Title: name, User: user, UserTeam: s.team.TeamID,
		Mode: "hosted", FileAccess: "visible", Channels: []string{}, Groups: []string{}, IMs: []string{}}
	f.Filetype = strings.TrimPrefix(strings.ToLower(path.Ext(name)), ".")
	f.PrettyType = strings.ToUpper(f.Filetype)
	f.Mimetype = fileTypes[f.Filetype]
	if f.Mimetype == "" {
		f.Mimetype = "application/octet-stream"
	}
	if strings.HasPrefix(f.Mimetype, "text/") {
		f.Mode = "snippet"
	}
	f.URLPrivate = s.base + "/files-pri/" + s.team.TeamID + "-" + f.ID + "/" + url.PathEscape(name)
	f.Download = s.base + "/files-pri/" + s.team.TeamID + "-" + f.ID + "/download/" + url.PathEscape(name)
	f.Permalink = "https://" + s.team.Domain + ".slack.com/files/" + user + "/" + f.ID + "/" + url.PathEscape(name)
	s.files[f.ID] = f
	return f
}

// fileTypes does not depend on what the host knows of types.
var fileTypes = map[string]string{
	"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "svg": "image/svg+xml",
	"txt": "text/plain", "log": "text/plain", "out": "text/plain", "err": "text/plain", "md": "text/markdown",
	"json": "application/json", "html": "text/html", "zip": "application/zip", "gz": "application/gzip",
	"tar": "application/x-tar", "tgz": "application/gzip", "zst": "application/zstd", "pdf": "application/pdf",
}

// fill gives a file its content.
func (f *File) fill(content []byte) {
	f.content, f.Size, f.uploaded = content, len(content), true
	if conf, _, err := image.DecodeConfig(bytes.NewReader(content)); err == nil && f.isImage() {
		f.OriginalW, f.OriginalH = conf.Width, conf.Height
	}
}

// share writes down in the files of a message where they are shown.
func (s *Server) share(r *room, m *Message) {
	sh := Share{TS: m.TS, ThreadTS: m.ThreadTS, ChannelName: r.Name, TeamID: s.team.TeamID}
	for _, f := range m.Files {
		switch {
		case r.IM != "":
			f.IMs = append(f.IMs, r.ID)
		case r.Private:
			f.Groups = append(f.Groups, r.ID)
		default:
			f.Channels, f.IsPublic = append(f.Channels, r.ID), true
		}
		where := &f.Shares.Public
		if r.Private || r.IM != "" {
			where = &f.Shares.Private
		}
		if *where == nil {
			*where = map[string][]Share{}
		}
		(*where)[r.ID] = append((*where)[r.ID], sh)
	}
}
