! Files in Fortran: buffers to HDF5, NumPy, raw and PNG files and back. doc/fortran.md explains it; the rules are those of tacit/io.h.
!
! Arrays in files are those of C: the first dimension of an array u(n1, n2) is the last one of the dataset, which has n2 rows of n1
! numbers. A Fortran program reads back what it has written; shapes that this module gives are in Fortran's order.
module tacit_io
   use, intrinsic :: iso_c_binding
   use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64, error_unit
   use tacit
   implicit none
   private

   public :: tacit_buffer_write, tacit_buffer_read, tacit_files_wait, tacit_file_look, tacit_file_facts
   public :: tacit_attribute, tacit_attribute_of, tacit_file_get_attribute

   ! A number or a text beside a dataset; made by tacit_attribute_of.
   type, bind(c) :: tacit_attribute
      character(kind=c_char) :: name(64), text(128)
      integer(c_int64_t) :: whole
      real(c_double) :: number
      integer(c_int) :: kind ! kind_text, ...
   end type

   ! What a file is. `numbers`: TACIT_DOUBLE, ...; 0: something else. Not found: `why`.
   type :: tacit_file_facts
      logical :: found = .false.
      integer :: rank = 0, numbers = 0
      integer(int64) :: shape(4) = 1
      character(:), allocatable :: why
   end type

   ! The options of tacit/io.h, as the C side takes them.
   type, bind(c) :: options
      integer(c_int) :: type, colours, split, attributes
      integer(c_int64_t) :: lower(3), upper(3), boxed
      real(c_double) :: time, low, high
      logical(c_bool) :: keep, sync, tolerant
   end type

   ! A number of any kind, or a text: tacit_attribute_of('step', 10).
   interface tacit_attribute_of
      module procedure attribute_i4, attribute_i8, attribute_r4, attribute_r8, attribute_text
   end interface

   ! call tacit_file_get_attribute(ctx, path, name, value, found, dataset, status): the value is converted to that of `value`.
   interface tacit_file_get_attribute
      module procedure get_i4, get_i8, get_r8, get_text
   end interface

   ! Of attributes: as the C side has them.
   integer, parameter :: kind_text = 0, kind_integer = 1, kind_real = 2

   interface
      integer(c_int) function c_move(ctx, buffer, path, o, dataset, xdmf, list, writing) bind(c, name="tacit_fortran_move")
         import :: c_int, c_ptr, c_char, c_bool, options, tacit_attribute
         type(c_ptr), value :: ctx, buffer
         character(kind=c_char), intent(in) :: path(*), dataset(*), xdmf(*)
         type(options), intent(in) :: o
         type(tacit_attribute), intent(in) :: list(*)
         logical(c_bool), value :: writing
      end function
      integer(c_int) function c_look(ctx, path, dataset, found, rank, numbers, shape, why) bind(c, name="tacit_fortran_look")
         import :: c_int, c_ptr, c_char, c_bool, c_int64_t
         type(c_ptr), value :: ctx
         character(kind=c_char), intent(in) :: path(*), dataset(*)
         logical(c_bool), intent(out) :: found
         integer(c_int), intent(out) :: rank, numbers
         integer(c_int64_t), intent(out) :: shape(4)
         character(kind=c_char), intent(out) :: why(256)
      end function
      integer(c_int) function c_get(ctx, path, dataset, a, found) bind(c, name="tacit_fortran_get_attribute")
         import :: c_int, c_ptr, c_char, c_bool, tacit_attribute
         type(c_ptr), value :: ctx
         character(kind=c_char), intent(in) :: path(*), dataset(*)
         type(tacit_attribute), intent(inout) :: a
         logical(c_bool), intent(inout) :: found
      end function
      integer(c_int) function c_files_wait(ctx) bind(c, name="tacit_files_wait")
         import :: c_int, c_ptr
         type(c_ptr), value :: ctx
      end function
   end interface

contains

   ! ---- helpers

   subroutine conclude(ctx, code, status)
      type(tacit_context), intent(in) :: ctx
      integer(c_int), intent(in) :: code
      integer, intent(out), optional :: status
      if (present(status)) then
         status = code
      else if (code /= 0) then
         write (error_unit, '(a)') tacit_last_error(ctx)
         error stop 1, quiet=.true.
      end if
   end subroutine

   ! A text for C; blanks at its end do not count, and no text is an empty one.
   function for_c(text) result(out)
      character(*), intent(in), optional :: text
      character(:), allocatable :: out
      out = c_null_char
      if (present(text)) out = trim(text)//c_null_char
   end function

   function from_c(letters) result(text)
      character(kind=c_char), intent(in) :: letters(:)
      character(:), allocatable :: text
      integer :: i
      text = ''
      do i = 1, size(letters)
         if (letters(i) == c_null_char) exit
         text = text//letters(i)
      end do
   end function

   subroutine put(text, letters)
      character(*), intent(in) :: text
      character(kind=c_char), intent(out) :: letters(:)
      integer :: i
      letters = c_null_char
      do i = 1, min(len_trim(text), size(letters)) ! one that is too long has no end, and the C side says so
         letters(i) = text(i:i)
      end do
   end subroutine

   ! ---- attributes

   type(tacit_attribute) function empty(name, kind) result(a)
      character(*), intent(in) :: name
      integer, intent(in) :: kind
      call put(name, a%name)
      a%text = c_null_char
      a%whole = 0
      a%number = 0
      a%kind = kind
   end function

   type(tacit_attribute) function attribute_i4(name, value) result(a)
      character(*), intent(in) :: name
      integer(int32), intent(in) :: value
      a = attribute_i8(name, int(value, int64))
   end function

   type(tacit_attribute) function attribute_i8(name, value) result(a)
      character(*), intent(in) :: name
      integer(int64), intent(in) :: value
      a = empty(name, kind_integer)
      a%whole = value
   end function

   type(tacit_attribute) function attribute_r4(name, value) result(a)
      character(*), intent(in) :: name
      real(real32), intent(in) :: value
      a = attribute_r8(name, real(value, real64))
   end function

   type(tacit_attribute) function attribute_r8(name, value) result(a)
      character(*), intent(in) :: name
      real(real64), intent(in) :: value
      a = empty(name, kind_real)
      a%number = value
   end function

   type(tacit_attribute) function attribute_text(name, value) result(a)
      character(*), intent(in) :: name, value
      a = empty(name, kind_text)
      call put(value, a%text)
   end function

   ! ---- writing and reading: tasks, which return at once

   ! Write a buffer of numbers of this type (TACIT_DOUBLE, ...) to a file, whose format its suffix says: .h5, .npy, .raw, .png.
   ! `lower`, `upper`: a part of it, both included. What the others are is said in tacit/io.h.
   subroutine tacit_buffer_write(ctx, buffer, path, type, dataset, keep, attributes, xdmf, time, low, high, colours, lower, upper, &
                                 split, sync, tolerant, status)
      type(tacit_context), intent(in) :: ctx
      type(tacit_buffer), intent(in) :: buffer
      character(*), intent(in) :: path
      integer, intent(in) :: type
      character(*), intent(in), optional :: dataset, xdmf
      logical, intent(in), optional :: keep, sync, tolerant
      type(tacit_attribute), intent(in), optional :: attributes(:)
      real(real64), intent(in), optional :: time, low, high
      integer, intent(in), optional :: colours, lower(:), upper(:), split
      integer, intent(out), optional :: status
      type(tacit_attribute), allocatable :: list(:)
      type(options) :: o
      o = options_of(type, lower, upper, split, tolerant)
      if (present(keep)) o%keep = keep
      if (present(sync)) o%sync = sync
      if (present(time)) o%time = time
      if (present(low)) o%low = low
      if (present(high)) o%high = high
      if (present(colours)) o%colours = colours
      allocate (list(0))
      if (present(attributes)) list = attributes
      o%attributes = size(list)
      call conclude(ctx, c_move(ctx%handle, buffer%handle, for_c(path), o, for_c(dataset), for_c(xdmf), list, &
                                .true._c_bool), status)
   end subroutine

   ! Read a file into a buffer of its shape, or into a part of one.
   subroutine tacit_buffer_read(ctx, buffer, path, type, dataset, lower, upper, split, tolerant, status)
      type(tacit_context), intent(in) :: ctx
      type(tacit_buffer), intent(in) :: buffer
      character(*), intent(in) :: path
      integer, intent(in) :: type
      character(*), intent(in), optional :: dataset
      integer, intent(in), optional :: lower(:), upper(:), split
      logical, intent(in), optional :: tolerant
      integer, intent(out), optional :: status
      type(tacit_attribute) :: list(1)
      type(options) :: o
      o = options_of(type, lower, upper, split, tolerant)
      call conclude(ctx, c_move(ctx%handle, buffer%handle, for_c(path), o, for_c(dataset), for_c(), list, &
                                .false._c_bool), status)
   end subroutine

   type(options) function options_of(type, lower, upper, split, tolerant) result(o)
      integer, intent(in) :: type
      integer, intent(in), optional :: lower(:), upper(:), split
      logical, intent(in), optional :: tolerant
      o = options(type, 0, 0, 0, 1, 1, 0, 0, 0, 0, .false., .false., .false.)
      if (present(lower) .and. present(upper)) then
         o%boxed = min(size(lower), size(upper))
         o%lower(1:min(3, size(lower))) = lower(1:min(3, size(lower)))
         o%upper(1:min(3, size(upper))) = upper(1:min(3, size(upper)))
      end if
      if (present(split)) o%split = split
      if (present(tolerant)) o%tolerant = tolerant
   end function

   ! Until all file operations submitted so far are done; an error: a tolerant one has failed.
   subroutine tacit_files_wait(ctx, status)
      type(tacit_context), intent(in) :: ctx
      integer, intent(out), optional :: status
      call conclude(ctx, c_files_wait(ctx%handle), status)
   end subroutine

   ! ---- what a file is, the same on all nodes. Waits for the file operations submitted before.

   subroutine tacit_file_look(ctx, path, facts, dataset, status)
      type(tacit_context), intent(in) :: ctx
      character(*), intent(in) :: path
      type(tacit_file_facts), intent(out) :: facts
      character(*), intent(in), optional :: dataset
      integer, intent(out), optional :: status
      character(kind=c_char) :: why(256)
      logical(c_bool) :: found
      integer(c_int) :: rank, numbers, code
      code = c_look(ctx%handle, for_c(path), for_c(dataset), found, rank, numbers, facts%shape, why)
      facts%why = ''
      if (code == 0) then
         facts%found = found
         facts%rank = rank
         facts%numbers = numbers
         facts%why = from_c(why)
      end if
      call conclude(ctx, code, status)
   end subroutine

   ! Without `found`, an attribute that is not there is an error.
   subroutine get(ctx, path, a, found, dataset, status)
      type(tacit_context), intent(in) :: ctx
      character(*), intent(in) :: path
      type(tacit_attribute), intent(inout) :: a
      logical, intent(out), optional :: found
      character(*), intent(in), optional :: dataset
      integer, intent(out), optional :: status
      logical(c_bool) :: there
      there = logical(present(found), c_bool) ! in: whether its absence is an answer
      call conclude(ctx, c_get(ctx%handle, for_c(path), for_c(dataset), a, there), status)
      if (present(found)) found = there
   end subroutine

   subroutine get_i4(ctx, path, name, value, found, dataset, status)
      type(tacit_context), intent(in) :: ctx
      character(*), intent(in) :: path, name
      integer(int32), intent(out) :: value
      logical, intent(out), optional :: found
      character(*), intent(in), optional :: dataset
      integer, intent(out), optional :: status
      integer(int64) :: long
      call get_i8(ctx, path, name, long, found, dataset, status)
      value = int(long, int32)
   end subroutine

   subroutine get_i8(ctx, path, name, value, found, dataset, status)
      type(tacit_context), intent(in) :: ctx
      character(*), intent(in) :: path, name
      integer(int64), intent(out) :: value
      logical, intent(out), optional :: found
      character(*), intent(in), optional :: dataset
      integer, intent(out), optional :: status
      type(tacit_attribute) :: a
      a = empty(name, kind_integer)
      call get(ctx, path, a, found, dataset, status)
      value = a%whole
   end subroutine

   subroutine get_r8(ctx, path, name, value, found, dataset, status)
      type(tacit_context), intent(in) :: ctx
      character(*), intent(in) :: path, name
      real(real64), intent(out) :: value
      logical, intent(out), optional :: found
      character(*), intent(in), optional :: dataset
      integer, intent(out), optional :: status
      type(tacit_attribute) :: a
      a = empty(name, kind_real)
      call get(ctx, path, a, found, dataset, status)
      value = a%number
   end subroutine

   subroutine get_text(ctx, path, name, value, found, dataset, status)
      type(tacit_context), intent(in) :: ctx
      character(*), intent(in) :: path, name
      character(*), intent(out) :: value
      logical, intent(out), optional :: found
      character(*), intent(in), optional :: dataset
      integer, intent(out), optional :: status
      type(tacit_attribute) :: a
      a = empty(name, kind_text)
      call get(ctx, path, a, found, dataset, status)
      value = from_c(a%text)
   end subroutine
end module tacit_io
