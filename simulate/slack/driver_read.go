package slack

import (
	"context"
	"fmt"
	"slices"
)

// Invite takes somebody, such as the bot, into a channel.
func (s *Server) Invite(channel, user string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.channels[channel]
	switch {
	case r == nil:
		return fmt.Errorf("there is no channel %s", channel)
	case s.users[user] == nil:
		return fmt.Errorf("there is no user %s", user)
	}
	if !r.has(user) {
		r.Members = append(slices.Clone(r.Members), user)
	}
	s.touch()
	return nil
}

// Kick takes somebody out of a channel.
func (s *Server) Kick(channel, user string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.channels[channel]
	if r == nil {
		return fmt.Errorf("there is no channel %s", channel)
	}
	r.Members = slices.DeleteFunc(slices.Clone(r.Members), func(m string) bool { return m == user })
	s.touch()
	return nil
}

// SetScopes changes the scopes of a token.
func (s *Server) SetScopes(token string, scopes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.team.Tokens = slices.Clone(s.team.Tokens)
	for i := range s.team.Tokens {
		if s.team.Tokens[i].Value == token {
			s.team.Tokens[i].Scopes = scopes
		}
	}
}

// Revoke makes a token worthless and cuts all sockets if it was an app-level token.
func (s *Server) Revoke(token string) {
	s.mu.Lock()
	s.team.Tokens = slices.Clone(s.team.Tokens)
	cut := false
	for i := range s.team.Tokens {
		if t := &s.team.Tokens[i]; t.Value == token {
			t.Revoked = true
			cut = t.appLevel()
		}
	}
	s.mu.Unlock()
	if cut {
		s.CutSockets()
	}
}

// Messages returns what a user sees in a channel, oldest first: the channel itself, or one thread with its head first.
// Ephemeral messages are there for their user only.
func (s *Server) Messages(channel, user, thread string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen(channel, user, thread)
}

func (s *Server) seen(channel, user, thread string) []Message {
	r := s.channels[channel]
	if r == nil {
		return nil
	}
	var out []Message
	for _, m := range r.messages {
		switch {
		case m.Deleted || (m.VisibleTo != "" && m.VisibleTo != user):
		case thread == "" && m.InThread() && !m.Broadcast:
		case thread != "" && m.TS != thread && m.ThreadTS != thread:
		default:
			out = append(out, m.clone())
		}
	}
	return out
}

// All returns every message of a channel that still is there, ephemeral ones included, oldest first.
func (s *Server) All(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	if r := s.channels[channel]; r != nil {
		for _, m := range r.messages {
			if !m.Deleted {
				out = append(out, m.clone())
			}
		}
	}
	return out
}

// Find returns the first message of a channel, in any thread and for any user, that fits.
func (s *Server) Find(channel string, fits func(Message) bool) (Message, bool) {
	list := s.All(channel)
	i := slices.IndexFunc(list, fits)
	if i < 0 {
		return Message{}, false
	}
	return list[i], true
}

// WaitMessage waits for a message in a channel, in any thread and for any user, that fits.
func (s *Server) WaitMessage(ctx context.Context, channel string, fits func(Message) bool) (Message, error) {
	var found Message
	err := s.Until(ctx, func() bool {
		var ok bool
		found, ok = s.Find(channel, fits)
		return ok
	})
	if err != nil {
		return Message{}, fmt.Errorf("a message in %s: %w", channel, err)
	}
	return found, nil
}

// File returns an uploaded file; its content is empty once it was deleted.
func (s *Server) File(id string) (File, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[id]
	if f == nil {
		return File{}, false
	}
	return *f, true
}

// Files returns all files that were uploaded and not deleted, in the order of their ids.
func (s *Server) Files() []File {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []File
	for _, id := range sortedKeys(s.files) {
		if f := s.files[id]; f.uploaded && !f.deleted {
			out = append(out, *f)
		}
	}
	return out
}

// Channels returns the channels, direct messages included, in the order of their ids.
func (s *Server) Channels() []Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Channel
	for _, id := range sortedKeys(s.channels) {
		out = append(out, s.channels[id].Channel)
	}
	return out
}
