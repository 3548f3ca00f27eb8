/**
 * Which variables a workflow may set for an approved program. A person approves a program and its arguments; a variable must not make
 * that program load, start or configure something else. Refused is what loaders, shells, interpreters, build tools, version control,
 * editors, pagers and clients of clusters and databases read for code, for programs to start, or for the place of a configuration that
 * can name either. Sources: glibc's list of unsafe variables, sudo's table of bad ones, and the manuals of the tools. A list can't be
 * complete for programs that nobody here knows; that is what the approver sees the variables for.
 */

/** Refused by their beginning. */
const families = [
  // Loaders and the C library.
  'LD_', '_RLD', 'DYLD_', 'GLIBC_', 'MALLOC_', 'GCONV_', 'NLSPATH', 'LOCPATH', 'HOSTALIASES', 'LOCALDOMAIN', 'RES_OPTIONS', 'RESOLV_', 'GETCONF_DIR', 'NIS_PATH', 'LOCALE_ARCHIVE',
  // Shells and terminals.
  'BASH', 'ENV$', 'IFS$', 'PS0$', 'PS1$', 'PS2$', 'PS4$', 'SHELL', 'CDPATH', 'GLOBIGNORE', 'PROMPT_COMMAND', 'ZDOTDIR', 'FPATH', 'NULLCMD', 'READNULLCMD', 'TMPPREFIX', 'TERMINFO', 'TERMCAP', 'TERMPATH', 'INPUTRC', 'HISTFILE', 'COMSPEC', 'PATHEXT', 'PSMODULE', 'PROFILE',
  // Homes, from which nearly everything reads its configuration.
  'HOME', 'XDG_', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'PROGRAMDATA', 'PROGRAMFILES', 'SYSTEMROOT', 'WINDIR', 'ALLUSERSPROFILE',
  // Interpreters and their package managers.
  'NODE_', 'NPM_', 'YARN_', 'PNPM_', 'COREPACK_', 'BUN_', 'DENO_', 'TS_NODE_', 'TSX_', 'ELECTRON_',
  'PYTHON', 'PIP_', 'PYENV_', 'VIRTUAL_ENV', 'CONDA_', 'POETRY_', 'PIPX_', 'UV_', 'IPYTHON',
  'PERL', 'PAR_', 'RUBY', 'GEM_', 'BUNDLE_', 'RBENV_', 'RAKE', 'LUA_', 'PHP', 'COMPOSER_', 'TCL', 'TK_', 'R_', 'JULIA_', 'GUILE_', 'EMACS', 'ERL_', 'ELIXIR_', 'MIX_', 'OCAML', 'CAML_', 'GHC', 'STACK_', 'AWKPATH', 'AWKLIBPATH',
  'JAVA_', '_JAVA_', 'JDK_', 'JRE_', 'CLASSPATH', 'MAVEN_', 'M2_', 'GRADLE_', 'ANT_', 'SBT_', 'KOTLIN_', 'SCALA_', 'GROOVY_', 'JPDA_', 'CATALINA_', 'DOTNET_', 'CORECLR_', 'COR_', 'COMPLUS_', 'NUGET_', 'MSBUILD', 'MONO_',
  // Building.
  'MAKE', 'MFLAGS', 'GNUMAKE', 'CC$', 'CXX$', 'CPP$', 'FC$', 'F77$', 'AS$', 'AR$', 'LD$', 'NM$', 'STRIP$', 'CMAKE_', 'GCC_', 'COMPILER_PATH', 'CCACHE_', 'DISTCC', 'CARGO', 'RUST', 'GO[A-Z0-9]+$', 'CGO_', 'BAZEL', 'SCONS', 'PKG_CONFIG', 'ACLOCAL', 'AUTOM4TE', 'AUTOCONF', 'M4',
  // Version control and what it starts.
  'GIT_', 'HG', 'SVN_', 'CVS', 'BZR_', 'P4', 'GH_', 'GLAB_',
  // Editors, pagers, browsers, viewers.
  'EDITOR', 'VISUAL', 'FCEDIT', 'PAGER', 'LESS', 'MORE$', 'MOST_', 'MANOPT', 'MANPATH', 'MANROFF', 'GROFF', 'BROWSER', 'VIM', 'NVIM', 'EXINIT', 'GVIMINIT', 'MYVIMRC', 'NANO', 'BAT_', 'DELTA_',
  // Other programs that start what a variable says.
  'SSH_', 'SUDO_', 'RSYNC_', 'RSH$', 'TAR_', 'TAPE$', 'GZIP$', 'BZIP', 'XZ_', 'ZSTD_', 'ZIPOPT', 'UNZIP', 'GREP_', 'FIND', 'WGETRC', 'SYSTEM_WGETRC', 'CURL_HOME', 'SCREENRC', 'SYSSCREENRC', 'TMUX', 'GDB', 'DEBUGINFOD', 'STRACE', 'GNUPGHOME', 'GPG', 'DEBCONF', 'DEBIAN_PRIVATE', 'APT_', 'DPKG_', 'RPM', 'SYSTEMD_', 'DBUS_', 'PKEXEC', 'POLKIT',
  // Plug-ins of libraries.
  'GTK', 'GDK_', 'GIO_', 'GI_', 'GST_', 'QT_', 'QML', 'KDE', 'PANGO', 'IM_MODULE', 'LIBGL', 'VK_', 'OCL_', 'EGL', 'MESA_', 'ALSA_', 'PULSE_', 'PIPEWIRE_', 'SPA_', 'MAGICK_', 'GS_', 'TEX', 'BIB', 'OPENSSL', 'SSLKEYLOGFILE', 'KRB5', 'GSS', 'SASL', 'PKCS11', 'P11_', 'LDAP', 'ODBC', 'TNS_ADMIN', 'ORACLE_',
  // Databases and clusters, whose configuration can name programs to start.
  'PSQL', 'PGSERVICE', 'PGSYSCONFDIR', 'PGPASSFILE', 'PGOPTIONS', 'MYSQL', 'LIBMYSQL', 'SQLITE', 'REDISCLI', 'MONGO', 'DOCKER', 'BUILDKIT', 'BUILDX', 'COMPOSE_', 'CONTAINER', 'KUBE', 'HELM', 'AWS_CONFIG', 'AWS_SHARED', 'AWS_CLI', 'CLOUDSDK_', 'AZURE_CONFIG', 'BOTO', 'TF_CLI', 'TF_PLUGIN', 'TF_REATTACH', 'TERRAFORM', 'ANSIBLE', 'PULUMI', 'VAGRANT', 'PACKER', 'CHEF', 'PUPPET',
  // The companion's own.
  'OUTRIGGER_',
];

/** Refused by their ending, whatever they belong to. */
const endings = ['PATH', '_PRELOAD', '_OPTS', '_OPTIONS', '_FLAGS', '_ARGS', 'EDITOR', 'PAGER', '_BROWSER', '_ASKPASS', '_SHELL', '_RSH', '_SSH', '_COMMAND', '_CMD', '_EXEC', '_PROGRAM', '_WRAPPER', '_LAUNCHER', '_PLUGIN', '_PLUGINS', '_MODULE', '_MODULES', '_STARTUP', '_INIT', '_INITRC', '_LIB', '_LIBS', '_HOME', '_CONFIG', '_CONFIG_FILE', '_CONFIG_DIR', '_CONF', 'RC', '_RC_FILE'];

/** Of those families, ones that name no code. */
const harmless = new Set(['NODE_ENV', 'PYTHONUNBUFFERED', 'PYTHONDONTWRITEBYTECODE', 'PYTHONIOENCODING', 'PYTHONUTF8', 'PYTHONHASHSEED', 'GIT_AUTHOR_NAME', 'GIT_AUTHOR_EMAIL', 'GIT_AUTHOR_DATE', 'GIT_COMMITTER_NAME', 'GIT_COMMITTER_EMAIL', 'GIT_COMMITTER_DATE', 'GIT_TERMINAL_PROMPT', 'GH_TOKEN']);

const refused = new RegExp(`^(?:${families.join('|')})|(?:${endings.join('|')})$`, 'i');

/** Shells take a function for a value of this form. */
const shellFunction = /^\s*\(\)\s*\{/;

/** The first variable that could make a program run what nobody approved, or null. */
export function codeVariable(env: Record<string, string>): string | null {
  for (const [name, value] of Object.entries(env)) {
    if (shellFunction.test(value) || (!harmless.has(name) && refused.test(name))) return name;
  }
  return null;
}
