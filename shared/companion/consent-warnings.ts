/** Warning before `system.ask` is turned off, for the command line and the window. */
export const withoutAskingWarning =
  'Without asking, every program that is approved at the hub runs here immediately as your user. It can read and change all of your files. Everyone who can approve at the hub can run any program on this machine.';

/** Warning before a home folder, a parent of it or a drive is shared. The path of the folder precedes the text. */
export const wideShareWarning =
  'contains all of your files, or all files of this machine. Workflows could read everything in it that is not hidden.';
