// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of files, which may have any byte but NUL: for terminals and for JSON. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "cli.h"

/* Bytes of the printable character at @p in the locale's encoding, 0 if there is none. A backslash
 * that would read as an escape is none. */
static size_t printable_at(const char *p, size_t left, mbstate_t *state)
{
	size_t len;
	wchar_t c;

	if (p[0] == '\\' && p[1] == 'x')
		return 0;
	len = mbrtowc(&c, p, left, state);
	if (len <= left && len > 0 && iswprint((wint_t)c))
		return len;
	memset(state, 0, sizeof(*state));
	return 0;
}

char *readable(const char *name)
{
	size_t left = strlen(name), len;
	char *text = malloc(left * 4 + 1), *out = text;
	mbstate_t state = { 0 };

	if (!text)
		return NULL;
	for (; left; left -= len, name += len) {
		len = printable_at(name, left, &state);
		if (len) {
			out = mempcpy(out, name, len);
			continue;
		}
		len = 1;
		out += sprintf(out, "\\x%02x", (unsigned char)*name);
	}
	*out = '\0';
	return text;
}

/* Bytes of the UTF-8 character at @p (table 3-7 of the Unicode standard), 0 if there is none. */
static size_t utf8_at(const unsigned char *p)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t len, i;

	if (p[0] < 0x80)
		return 1;
	len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	if (p[0] == 0xe0)
		low = 0xa0; /* overlong */
	else if (p[0] == 0xed)
		high = 0x9f; /* surrogates */
	else if (p[0] == 0xf0)
		low = 0x90; /* overlong */
	else if (p[0] == 0xf4)
		high = 0x8f; /* above U+10FFFF */
	if (p[1] < low || p[1] > high)
		return 0;
	for (i = 2; i < len; i++)
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
	return len;
}

/* A byte that is not UTF-8 becomes U+FFFD. */
static void json_string(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t len;

	putchar('"');
	for (; *p; p += len) {
		len = utf8_at(p);
		if (len == 0) {
			fputs("\\ufffd", stdout);
			len = 1;
		} else if (*p == '"' || *p == '\\') {
			printf("\\%c", *p);
		} else if (*p < 0x20 || *p == 0x7f) {
			printf("\\u%04x", *p);
		} else if (*p == 0xc2 && p[1] < 0xa0) {
			/* Control characters to a terminal as well */
			printf("\\u%04x", p[1]);
		} else {
			fwrite(p, 1, len, stdout);
		}
	}
	putchar('"');
}

static bool is_utf8(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t len;

	for (; *p; p += len) {
		len = utf8_at(p);
		if (len == 0)
			return false;
	}
	return true;
}

void json_path(const char *path)
{
	fputs("\"path\":", stdout);
	json_string(path);
	if (is_utf8(path))
		return;
	fputs(",\"path_hex\":\"", stdout);
	for (; *path; path++)
		printf("%02x", (unsigned char)*path);
	putchar('"');
}
