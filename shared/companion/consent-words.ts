/** Meaning of `system.ask` being off. The command line and the window show the same words before they change it. */
export const unattendedMeaning =
  'Without asking, every program that is approved at the hub runs here at once, as your user: it can read and change all of your files. Whoever may approve at the hub has a shell on this machine.';

/** Meaning of sharing a home folder, a folder around it or a drive; the folder's path comes before it. */
export const wideMeaning =
  'holds all of your files, or all of this machine: workflows could read everything in it that is not hidden.';
